"""Glob patterns on POSIX paths: `*` and `?` stay in a folder, `**` crosses folders, a trailing `/` is the whole folder.

A pattern becomes a regular expression that does not backtrack over its gaps: what stands between two gaps is taken where
it first fits, which leaves most to the gap behind it, and never tried again. Else a pattern of a few `*` could take hours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

ACROSS = {"**/": r"(?:[^/]+/)*", "**": r".*"}  # gaps that cross folders


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    pattern = re.sub(r"(\*\*/)+", "**/", re.sub(r"\*{3,}", "**", pattern.removeprefix("./")))
    pattern = pattern + "**" if pattern.endswith("/") else pattern
    first, *rest = re.split(r"(\*\*/|\*\*)", pattern)
    gaps, chunks = rest[::2], rest[1::2]
    parts = [inside(first, last=not gaps)]
    for number, (gap, chunk) in enumerate(zip(gaps, chunks, strict=True)):
        behind = gaps[number + 1] if number + 1 < len(gaps) else None
        if behind == "**" or (behind == "**/" and chunk.endswith("/")):
            parts.append(f"(?>{ACROSS[gap]}?{inside(chunk, last=False)})")
        else:
            parts.append(ACROSS[gap] + inside(chunk, last=behind is None))
    return re.compile("".join(parts), re.S)


def inside(chunk: str, last: bool) -> str:
    """A chunk without `**`. The last piece of a pattern has to reach the end of the path, the one before `**/` a boundary."""
    first, *pieces = chunk.split("*")
    parts = [literal(first)]
    for number, piece in enumerate(pieces, 1):
        is_free = number < len(pieces) or "/" in piece
        parts.append(f"(?>[^/]*?{literal(piece)})" if is_free and not (last and number == len(pieces)) else f"[^/]*{literal(piece)}")
    return "".join(parts)


def literal(piece: str) -> str:
    return "".join("[^/]" if character == "?" else re.escape(character) for character in piece)


def matches(path: str, pattern: str) -> bool:
    return compiled(pattern).fullmatch(path) is not None


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)
