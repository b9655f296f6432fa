"""The decision API's questions and answers, and their checks. Pure: no HTTP, no images, no torch.

The format is TypeSafe's System One with images and abstention, as mohit67890/imajev serves it; /openapi.json describes it.
A request is refused whole: no part of a wrong request is answered, and nothing is cut to fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import Decision, Option, Question

from server.json_text import compact_bytes
from server.refusals import Refused, invalid, shown

MAX_STATE_BYTES = 131_072
MAX_STATE_NESTING = 8
MAX_QUESTIONS = 8
MAX_LABEL = 128
MAX_TEXT = 2_000
MIN_OPTIONS, MIN_LEVELS, MAX_LEVELS = 2, 2, 10
MAX_IMAGES = 2
RESERVED = "__unknown__"  # upstream's own name of the abstention
TYPES = ("choice", "noul", "score")
ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
KEYS = ("model", "state", "questions", "images")
QUESTION_KEYS = ("type", "instructions", "criteria")


@dataclass(frozen=True)
class Request:
    """A checked request. `images` are data URLs still; who decodes them has limits of its own."""

    state: str | Mapping[str, Any]
    questions: tuple[Question, ...]
    images: tuple[Any, ...]


def request(body: Any, max_options: int) -> Request:
    """The Request of a parsed body. Raises Refused (422) at the first fault."""
    if not isinstance(body, dict):
        raise invalid(f"the body is {kind_of(body)}, not an object")
    known(body, KEYS, "the body")
    return Request(state(body.get("state", {})), questions(body.get("questions"), max_options), images(body.get("images", [])))


def state(value: Any) -> str | Mapping[str, Any]:
    """The state as the prompt takes it: a text or an object; an array goes under the key `state`."""
    if not isinstance(value, (str, dict, list)):
        raise invalid(f"state is {kind_of(value)}, not a string, an object or an array", "invalid_state")
    found = {"state": value} if isinstance(value, list) else value
    if too_deep(found, MAX_STATE_NESTING):
        raise invalid(f"state is nested deeper than {MAX_STATE_NESTING} levels", "invalid_state")
    data = compact_bytes(found)
    if data is None:
        raise invalid("state has a lone surrogate, which is no Unicode text", "invalid_state")
    if len(data) > MAX_STATE_BYTES:
        raise invalid(f"state has {len(data):,} bytes of compact JSON; the limit is {MAX_STATE_BYTES:,}", "invalid_state")
    return found


def too_deep(value: Any, left: int) -> bool:
    """True where a value lies more than `left` containers down."""
    if left < 0:
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(too_deep(item, left - 1) for item in inner)


def images(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise invalid(f"images is {kind_of(value)}, not an array")
    if len(value) > MAX_IMAGES:
        raise invalid(f"images has {len(value)} entries; a request has at most {MAX_IMAGES}")
    return tuple(value)


# ---------------------------------------------------------------------------------------------------------- questions


def questions(value: Any, max_options: int) -> tuple[Question, ...]:
    if not isinstance(value, dict) or not value:
        raise invalid("questions is not an object with at least one question")
    if len(value) > MAX_QUESTIONS:
        raise invalid(f"{len(value)} questions; a request has at most {MAX_QUESTIONS}")
    return tuple(question(name, item, max_options) for name, item in value.items())


def question(name: str, value: Any, max_options: int) -> Question:
    if not ID.fullmatch(name):
        raise wrong(name, "the id is not a letter followed by at most 63 letters, digits and _")
    if not isinstance(value, dict):
        raise wrong(name, f"is {kind_of(value)}, not an object")
    known(value, QUESTION_KEYS, f"question {shown(name)}")
    kind = value.get("type")
    if kind not in TYPES:
        raise wrong(name, f"type is {shown(kind)}; it is one of {', '.join(TYPES)}")
    instructions = text(name, "instructions", flatten(value.get("instructions"), "\n"))
    options = OPTIONS[kind](name, value.get("criteria"), max_options)
    return Question(name, kind, instructions, options)


def choice_options(name: str, criteria: Any, max_options: int) -> tuple[Option, ...]:
    if not isinstance(criteria, dict):
        raise wrong(name, "a choice needs criteria: an object of option and description (or null)")
    if not MIN_OPTIONS <= len(criteria) <= max_options:
        error = "too_many_options" if len(criteria) > max_options else "invalid_request"
        raise wrong(name, f"{len(criteria)} options; a choice has {MIN_OPTIONS} to {max_options} here", error)
    return tuple(Option(label(name, key), description(name, key, value)) for key, value in criteria.items())


def noul_options(name: str, criteria: Any, max_options: int) -> tuple[Option, ...]:
    given = {} if criteria is None else criteria
    if not isinstance(given, dict):
        raise wrong(name, 'criteria of a noul is an object with "true" and "false", or left out')
    known(given, ("true", "false"), f"criteria of question {shown(name)}")
    return tuple(Option(key, description(name, key, given.get(key))) for key in ("true", "false"))


def score_options(name: str, criteria: Any, max_options: int) -> tuple[Option, ...]:
    if not isinstance(criteria, list):
        raise wrong(name, "a score needs criteria: an array of level descriptions, lowest first")
    if not MIN_LEVELS <= len(criteria) <= MAX_LEVELS:
        raise wrong(name, f"{len(criteria)} levels; a score has {MIN_LEVELS} to {MAX_LEVELS}")
    return tuple(Option(str(n), text(name, f"level {n}", flatten(item, "; "))) for n, item in enumerate(criteria))


OPTIONS = {"choice": choice_options, "noul": noul_options, "score": score_options}


def label(name: str, value: str) -> str:
    if not 1 <= len(value) <= MAX_LABEL:
        raise wrong(name, f"an option has {len(value)} characters; it has 1 to {MAX_LABEL}")
    if value == RESERVED:
        raise wrong(name, f"{RESERVED} is the server's own option")
    return text(name, "an option", value)


def description(name: str, key: str, value: Any) -> str | None:
    """None for what says nothing: null and empty texts."""
    flat = flatten(value, "; ")
    return None if flat == "" or value is None else text(name, f"the description of {shown(key)}", flat)


def flatten(value: Any, separator: str) -> str | None:
    """One text of a string, an object ("key: value" a line) or an array (one item a line); None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return separator.join(f"{key}: {inner(item)}" for key, item in value.items())
    if isinstance(value, list):
        return separator.join(inner(item) for item in value)
    return None


def inner(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text(name: str, what: str, value: str | None) -> str:
    if not value:
        raise wrong(name, f"{what} is not a non-empty string, object or array")
    if len(value) > MAX_TEXT:
        raise wrong(name, f"{what} has {len(value):,} characters; the limit is {MAX_TEXT:,}")
    if compact_bytes(value) is None:
        raise wrong(name, f"{what} has a lone surrogate, which is no Unicode text")
    return value


def known(value: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in value:
        if key not in keys:
            raise invalid(f"{where} has the key {shown(key)}; known are {', '.join(keys)}")


def wrong(name: str, detail: str, error: str = "invalid_request") -> Refused:
    return invalid(f"question {shown(name)}: {detail}", error)


def kind_of(value: Any) -> str:
    names = {
        type(None): "null",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names[type(value)]


# ------------------------------------------------------------------------------------------------------------ answers


def answer(asked: Question, decision: Decision) -> dict[str, Any]:
    """The answer of one question. Probabilities of choice and score are over the real options; noul counts half of unknown."""
    unknown = decision.unknown_probability
    shared: dict[str, Any] = {"unknown_probability": unknown, "abstained": decision.abstained}
    if decision.calibration_version is not None:
        shared["calibration_version"] = decision.calibration_version
    if asked.type == "noul":
        return {"type": "noul", "noul": min(1.0, decision.probabilities[0] + 0.5 * unknown), **shared}
    probabilities = renormalised(decision.probabilities)
    confidence = concentration(probabilities) * (1 - unknown)
    by_label = dict(zip((o.label for o in asked.options), probabilities, strict=True))
    if asked.type == "choice":
        chosen = decision.selected if decision.selected is not None else probabilities.index(max(probabilities))
        return {"type": "choice", "choice": asked.options[chosen].label, "probabilities": by_label, "confidence": confidence, **shared}
    expected = sum(level * p for level, p in enumerate(probabilities))
    legend = {o.label: o.description for o in asked.options}
    return {"type": "score", "score": expected, "legend": legend, "probabilities": by_label, "confidence": confidence, **shared}


def renormalised(probabilities: Sequence[float]) -> list[float]:
    """Without the share of unknown; equal where unknown took everything."""
    total = sum(probabilities)
    return [p / total for p in probabilities] if total > 0 else [1 / len(probabilities)] * len(probabilities)


def concentration(probabilities: Sequence[float]) -> float:
    """0 where all are equal, 1 where one has everything."""
    n = len(probabilities)
    return max(0.0, min(1.0, (n * max(probabilities) - 1) / (n - 1)))


def usage(decisions: Sequence[Decision], prefill_ms: float, total_ms: float, pictures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """prefill_ms is the vision tower's part, shared by all questions; questions_ms the decisions; rotations the most of any question.

    input_tokens counts the prompts of all rotations; prompt_tokens is the length of one, of the question with the longest.
    """
    return {
        "prefill_ms": round(prefill_ms, 3),
        "questions_ms": round(sum(d.total_ms for d in decisions), 3),
        "input_tokens": sum(d.input_tokens for d in decisions),
        "prompt_tokens": max(round(d.input_tokens / d.rotations) for d in decisions),
        "rotations": max(d.rotations for d in decisions),
        "total_ms": round(total_ms, 3),
        "images": list(pictures),
    }
