"""What an answer lacks of what was expected, in words. By content: that something answered says nothing of what it answered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease.engines import Answer
from hubrelease.expected_texts import SHOWN, text_faults
from hubrelease.suites import Request


def faults(request: Request, answer: Answer) -> list[str]:
    """Empty where the answer holds everything that was expected."""
    if answer.decisions is not None:
        return list(decision_faults(request, answer.decisions))
    return [*text_faults(request.expect, answer.text), *reasoning_faults(request, answer), *tool_faults(request.expect, answer.tool)]


def reasoning_faults(request: Request, answer: Answer) -> Iterator[str]:
    asked = request.body.get("reasoning")
    if asked is True and not answer.reasoning.strip():
        yield "reasoning was asked for, and there is none"
    if asked is False and answer.reasoning.strip():
        yield f"reasoning was switched off, and it reasons: {answer.reasoning[:SHOWN]!r}"


def tool_faults(expect: Mapping[str, Any], tool: Mapping[str, Any] | None) -> Iterator[str]:
    want = expect.get("tool")
    if not want:
        return
    if tool is None:
        yield "no tool was called"
        return
    if tool["name"] != want["name"]:
        yield f"the tool {tool['name']!r:.80} was called, not {want['name']!r}"
    given = tool["arguments"]
    if given is None:
        yield "the arguments are no JSON object"
        return
    for key, value in want.get("arguments", {}).items():
        if str(value).lower() not in str(given.get(key, "")).lower():
            yield f"the argument {key} is {given.get(key)!r:.80}, not {value!r}"


# ---------------------------------------------------------------------------------------------------------- decisions


def decision_faults(request: Request, answers: Mapping[str, Any]) -> Iterator[str]:
    for name, question in request.body["questions"].items():
        answer = answers.get(name)
        if not isinstance(answer, dict):
            yield f"question {name} has no answer"
            continue
        broken = list(broken_numbers(name, answer))
        yield from broken
        want = request.expect.get("answers", {}).get(name)
        if want is not None and not broken and (got := verdict(answer)) != str(want).lower():
            yield f"question {name} is answered {got!r}, not {want!r} ({question.get('type')})"


def broken_numbers(name: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """Probabilities that are none."""
    chances = distribution(answer)
    if any(not is_share(p) for p in [*chances, answer.get("unknown_probability")]):
        yield f"question {name} has a probability that is none"
    elif answer.get("type") == "score" and not is_level(answer.get("score"), len(chances)):
        yield f"question {name} has a score that is none"
    elif answer.get("type") == "choice" and answer.get("choice") not in [*answer["probabilities"], None]:
        yield f"question {name} chooses what is none of its options"
    elif len(chances) > 1 and not math.isclose(math.fsum(chances), 1, abs_tol=1e-3):
        yield f"the probabilities of question {name} add up to {math.fsum(chances):.6g}"


def distribution(answer: Mapping[str, Any]) -> list[Any]:
    """Over the real options; of a noul, of yes and no."""
    if answer.get("type") == "noul":
        yes = answer.get("noul")
        return [yes, 1 - yes] if is_share(yes) and isinstance(yes, (int, float)) else [yes]
    found = answer.get("probabilities")
    return list(found.values()) if isinstance(found, dict) and found else [None]


def is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e-6 <= value <= 1 + 1e-6  # NaN is not, nor is 10**400


def is_level(value: object, levels: int) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e-3 <= value <= max(0, levels - 1) + 1e-3


def verdict(answer: Mapping[str, Any]) -> str:
    """The answer in a word: the option, true or false, the nearest level, or unknown."""
    if answer.get("abstained") is True:
        return "unknown"
    kind = answer.get("type")
    if kind == "noul":
        return "true" if answer["noul"] > 0.5 else "false"
    if kind == "score":
        return str(round(answer["score"]))
    return str(answer.get("choice")).lower()
