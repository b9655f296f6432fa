"""What a decision server answered, as the fields of a row; or why it is no answer.

A row takes probabilities as they came and normalises nothing. A noul has one number, P(true), in which half of `unknown`
is counted: its row has true with that and false with the rest. A score's choice is its most probable level, the lowest
of equals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hubrelease.decisions.client import MAX_REPLY_BYTES, Reply
from hubrelease.decisions.questions import NAME, Question
from hubrelease.decisions.rows import SUM_TOLERANCE, said
from hubrelease.verify_release import strict_json

Fields = dict[str, Any]


class NoAnswer(ValueError):
    """Why a reply answers nothing, in words for the row."""


def answer_of(question: Question, reply: Reply, model: str) -> Fields:
    """candidates, probabilities, choice, and what the server counted. NoAnswer for everything that is not just that."""
    body = body_of(reply)
    if body.get("model", model) != model:
        raise NoAnswer(f"answered by {said(body['model'])}, and /v1/models names {said(model)}")
    answers = body.get("answers")
    answer = answers.get(NAME) if isinstance(answers, dict) else None
    if not isinstance(answer, dict):
        raise NoAnswer("the answer has no answers/decision")
    if answer.get("type") != question.type:
        raise NoAnswer(f"the answer is of type {said(answer.get('type'))}, and the question is a {question.type}")
    return {**decided(question, answer), **counted(body.get("usage")), **abstention(answer), "latencyMs": round(reply.latency_ms, 3)}


def body_of(reply: Reply) -> Mapping[str, Any]:
    """The JSON object of a 200."""
    if reply.status != 200:
        raise NoAnswer(refusal(reply))
    if len(reply.body) > MAX_REPLY_BYTES:
        raise NoAnswer(f"the answer is larger than {MAX_REPLY_BYTES:,} bytes")
    try:
        body = strict_json(reply.body)
    except ValueError as error:
        raise NoAnswer(f"the answer is not strict JSON: {str(error)[:100]}") from None
    if not isinstance(body, dict):
        raise NoAnswer("the answer is no JSON object")
    return body


def refusal(reply: Reply) -> str:
    """HTTP status, and what the server says about it."""
    try:
        body = strict_json(reply.body)
    except ValueError:
        body = None
    words = [str(body[key]) for key in ("error", "detail") if isinstance(body.get(key), str)] if isinstance(body, dict) else []
    return ": ".join([f"HTTP {reply.status}", *words])


def decided(question: Question, answer: Mapping[str, Any]) -> Fields:
    names = question.candidates
    if question.type == "noul":
        true = number(answer, "noul", 1)
        probabilities = [true, 1 - true]
    else:
        probabilities = in_order(names, answer.get("probabilities"))
    best = names[probabilities.index(max(probabilities))]
    if question.type == "score":
        expected = math.fsum(level * p for level, p in enumerate(probabilities))
        if abs(number(answer, "score", len(names) - 1) - expected) > SUM_TOLERANCE * len(names):
            raise NoAnswer(f"score is {said(answer['score'])}, and the probabilities of the levels make {expected:.6g}")
    choice = answer.get("choice") if question.type == "choice" else best
    if choice not in names:
        raise NoAnswer(f"choice is {said(choice)}, which is not among the candidates")
    return {"candidates": list(names), "probabilities": probabilities, "choice": choice}


def in_order(names: tuple[str, ...], values: Any) -> list[float]:
    """The probabilities of an object, in the order of the candidates."""
    if not isinstance(values, dict):
        raise NoAnswer("the answer has no probabilities")
    if odd := [*(n for n in names if n not in values), *(n for n in values if n not in names)]:
        raise NoAnswer(f"probabilities are of other candidates: {said(odd[0])} is one of them only here or there")
    found = [number(values, name, 1) for name in names]
    if abs(math.fsum(found) - 1) > SUM_TOLERANCE:
        raise NoAnswer(f"probabilities sum to {math.fsum(found):.6g}, not to 1")
    return found


def number(values: Mapping[str, Any], key: str, most: float) -> float:
    value = values.get(key)
    if type(value) not in (int, float) or not 0 <= value <= most:  # type: ignore[operator]
        raise NoAnswer(f"{key[:60]} is {said(value)}, which is no number from 0 to {most:g}")
    return value  # type: ignore[return-value]


def counted(usage: Any) -> Fields:
    """Input tokens and rotations. A server that counts the prompts of all rotations tells the length of one as prompt_tokens."""
    told = usage if isinstance(usage, dict) else {}
    key = "prompt_tokens" if told.get("prompt_tokens") is not None else "input_tokens"
    tokens = told.get(key)
    if type(tokens) is not int or tokens < 0:
        raise NoAnswer(f"usage/{key} is {said(tokens)}, which is no number of tokens")
    return {"inputTokens": tokens} | ({"rotations": told["rotations"]} if told.get("rotations") is not None else {})


def abstention(answer: Mapping[str, Any]) -> Fields:
    """Both are the server's to tell or not."""
    found: Fields = {}
    if answer.get("abstained") is not None:
        found["abstained"] = answer["abstained"]
    if answer.get("unknown_probability") is not None:
        found["unknownProbability"] = number(answer, "unknown_probability", 1)
    return found
