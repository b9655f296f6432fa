"""JSON as a caller may send it: RFC 8259 without what readers disagree about.

Refused: duplicate keys, NaN and infinities (1e999 too), lone surrogates, deep nesting (before anything recurses), and more
structure than any request can need. Brackets and commas are counted on the raw text with one regular expression, so a
hostile body costs time in proportion to its length and no memory.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from server.refusals import Refused, invalid, shown

MAX_DEPTH = 24  # a state of nesting 8 inside the body needs 10
MAX_MARKS = 400_000  # a state of 128 KiB has at most 131,072 marks, eight questions of 255 options about 6,000
# A string that never ends is one token too: otherwise each escaped quote in it would be tried as the start of another.
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},:]', re.S)
STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def parse(data: bytes) -> Any:
    """The value of UTF-8 JSON bytes. Raises Refused (422, invalid_json)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise fault(f"the body is not UTF-8 at byte {error.start}") from None
    check_structure(text)
    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant, parse_float=finite)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
        raise fault(f"the body is not JSON: {reason}") from None


def check_structure(text: str) -> None:
    """Counts nesting and marks outside of strings."""
    depth = 0
    for marks, match in enumerate(TOKEN.finditer(text)):
        depth += STEP.get(match[0], 0)
        if depth > MAX_DEPTH:
            raise fault(f"the body is nested deeper than {MAX_DEPTH} levels")
        if marks > MAX_MARKS:
            raise fault(f"the body has more than {MAX_MARKS:,} JSON tokens")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise fault(f"the key {shown(twice)} stands twice in one object")
    return found


def no_constant(word: str) -> Any:
    raise fault(f"{word} is not JSON")


def finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise fault(f"the number {shown(text)} is out of range")
    return value


def fault(detail: str) -> Refused:
    return invalid(detail, "invalid_json")


def compact_bytes(value: Any) -> bytes | None:
    """Compact UTF-8 JSON; None where a text holds a lone surrogate, which no UTF-8 can."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        return None
