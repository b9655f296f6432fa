"""A record of a rows file as a value: the run's header, a session's samples, or a row. Fields: schemas/decision-row.schema.json.

By hand and not by jsonschema, which takes thirty times as long; tests hold the two against each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hubrelease.decisions.records import Place

RUN, SESSION = "decision-run", "decision-session"
STATUSES = ("ok", "failed", "excluded", "truncated")
EVENTS = ("start", "progress", "end")
SUM_TOLERANCE = 1e-3  # servers round: 20 candidates of 4 decimals may miss 1 by that much
MAX_TEXT, MAX_CANDIDATES = 2000, 4096
MAX_NUMBER = 2**53
Answer = tuple[tuple[str, ...], tuple[float, ...], int, float]
NO_ANSWER: Answer = ((), (), -1, 0.0)
TEXT_KEYS = ("id", "task", "type", "label", "status", "requestDigest")
NUMBERS, TEXTS = frozenset((float, int)), frozenset((str,))
DIGEST = re.compile(r"(sha256:)?[0-9a-f]{64}")


class Row(NamedTuple):
    """One question that was asked. What was answered is empty where `status` is not ok."""

    place: Place
    id: str
    task: str
    type: str
    label: str
    status: str
    request: str
    candidates: tuple[str, ...]
    probabilities: tuple[float, ...]
    choice: int  # place among the candidates; -1 without an answer
    latency_ms: float
    input_tokens: int
    rotations: int | None
    abstained: bool

    @property
    def question(self) -> tuple[object, ...]:
        """What must be equal in both runs besides the request."""
        return self.task, self.type, self.label


class RowFault(ValueError):
    """Why a record is no row, with the key."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        super().__init__(reason)


def row_of(record: Mapping[str, Any], place: Place) -> Row:
    """The row of a record. RowFault with the key and the reason."""
    name, task, kind, label, status, request = texts(record)
    if status not in STATUSES:
        raise RowFault("status", f"is {said(status)}, must be one of {', '.join(STATUSES)}")
    if not DIGEST.fullmatch(request):
        raise RowFault("requestDigest", f"is {said(request)}, must be 64 hexadecimal digits")
    rotations = whole(record, "rotations", 1) if record.get("rotations") is not None else None
    tokens = whole(record, "inputTokens") if status == "ok" or record.get("inputTokens") is not None else 0
    answer = answer_of(record, label) if status == "ok" else NO_ANSWER
    abstained = record.get("abstained", False)
    if not isinstance(abstained, bool):
        raise RowFault("abstained", f"is {said(abstained)}, must be true or false")
    return Row(place, name, task, kind, label, status, request, *answer, tokens, rotations, abstained)


def answer_of(record: Mapping[str, Any], label: str) -> Answer:
    """(candidates, probabilities, place of the choice, latency) of a row that was answered."""
    candidates = record.get("candidates")
    if not isinstance(candidates, list) or not 2 <= len(candidates) <= MAX_CANDIDATES:
        raise RowFault("candidates", f"must be a list of 2 to {MAX_CANDIDATES} texts")
    if not all_texts(candidates) or len(set(candidates)) < len(candidates):
        raise RowFault("candidates", f"must be different texts of 1 to {MAX_TEXT} characters")
    choice = text(record, "choice")
    for key, value in (("label", label), ("choice", choice)):
        if value not in candidates:
            raise RowFault(key, f"is {said(value)}, which is not among the candidates")
    found = probabilities_of(record.get("probabilities"), len(candidates))
    return tuple(candidates), found, candidates.index(choice), number(record, "latencyMs")


def probabilities_of(values: Any, count: int) -> tuple[float, ...]:
    if not isinstance(values, list) or len(values) != count:
        raise RowFault("probabilities", f"must be a list of {count} numbers, one a candidate")
    if not NUMBERS.issuperset(map(type, values)) or min(values) < 0 or max(values) > 1:
        odd = next(value for value in values if type(value) not in NUMBERS or not 0 <= value <= 1)
        raise RowFault("probabilities", f"holds {said(odd)}, which is no number from 0 to 1")
    if abs(sum(values) - 1) > SUM_TOLERANCE:
        raise RowFault("probabilities", f"sum to {sum(values):.6g}, not to 1 (within {SUM_TOLERANCE})")
    return tuple(map(float, values))


def all_texts(values: list[Any]) -> bool:
    """True if each is a text of 1 to MAX_TEXT characters. Without a loop of ours: this is asked of every row."""
    return TEXTS.issuperset(map(type, values)) and min(map(len, values)) > 0 and max(map(len, values)) <= MAX_TEXT


def texts(record: Mapping[str, Any]) -> list[str]:
    """The texts that every row has."""
    values = [record.get(key) for key in TEXT_KEYS]
    return values if all_texts(values) else [text(record, key) for key in TEXT_KEYS]  # type: ignore[return-value]


def text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        raise RowFault(key, f"is {said(value)}, must be a text of 1 to {MAX_TEXT} characters" if key in record else "is missing")
    return value


def whole(record: Mapping[str, Any], key: str, least: int = 0) -> int:
    value = record.get(key)
    if type(value) is not int or not least <= value <= MAX_NUMBER:
        raise RowFault(key, f"is {said(value)}, must be a whole number from {least}" if key in record else "is missing")
    return value


def number(record: Mapping[str, Any], key: str) -> float:
    value = record.get(key)
    if type(value) not in (float, int) or not 0 <= value <= MAX_NUMBER:  # type: ignore[operator]
        raise RowFault(key, f"is {said(value)}, must be a number from 0" if key in record else "is missing")
    return float(value)  # type: ignore[arg-type]


def said(value: object) -> str:
    """A value in a message, cut."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return "a number of many digits"
    shown = f'"{value}"' if isinstance(value, str) else "empty" if value is None else str(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
