"""The suite's requests, each judged by what the answer holds: chats, decisions, pictures, long prompts, reasoning, tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from hubrelease import canonical, judging, long_prompts
from hubrelease.engines import Answer, EngineFault
from hubrelease.probes import FAIL, PASS, SKIPPED, Probe, Row, Session, rounded
from hubrelease.suites import Request

APART = ("streaming",)  # a probe of its own
SHOWN = 300


def skip(session: Session) -> str | None:
    return None if asked(session) else "nothing is known of what the release takes: give validation.takes or a suite in release.yaml"


def asked(session: Session) -> list[Request]:
    return [request for request in session.suite.requests if request.kind not in APART]


def run(session: Session) -> Iterator[Row]:
    for request in asked(session):
        yield row_of(session, request)


def row_of(session: Session, request: Request) -> Row:
    """EngineFault where the engine has ended: nothing more can be asked of it."""
    name = f"request:{request.name}"
    if request.kind not in session.engine.kinds:
        return Row(name, SKIPPED, request.required, reason=f"{session.engine.facts().name} is not asked requests of kind {request.kind}")
    try:
        ready = long_prompts.filled(request, session.engine) if request.kind == "long" else request
        answer = session.engine.ask(ready)
    except EngineFault as fault:
        if fault.ended:
            raise
        return Row(name, FAIL, request.required, reason=fault.message)
    except OSError as error:
        return Row(name, FAIL, request.required, reason=f"a picture of the suite can't be read: {error.strerror or error}")
    session.answers[request.name] = answer
    bad = [*judging.faults(ready, answer), *long_prompts.faults(ready, answer)]
    return Row(name, FAIL if bad else PASS, request.required, measured_of(answer), expected(ready, answer), "; ".join(bad)[:SHOWN] or None)


def expected(request: Request, answer: Answer) -> dict[str, Any]:
    """What was held against this answer: of a long prompt the text or the decision."""
    other = "answers" if answer.decisions is None else "contains"
    return {key: value for key, value in request.expect.items() if key != other}


def measured_of(answer: Answer) -> dict[str, Any]:
    plain = replace(answer)
    found: dict[str, Any] = {"seconds": rounded(plain.seconds)}
    found |= {"output": plain.text[:SHOWN]} if plain.decisions is None else {"answers": decided(plain)}
    found |= {"promptTokens": plain.prompt_tokens} if plain.prompt_tokens is not None else {}
    found |= {"tokens": plain.tokens} if plain.tokens is not None else {}
    found |= {"tool": told_tool(plain.tool)} if plain.tool else {}
    return found | ({"reasoning": plain.reasoning[:SHOWN]} if plain.reasoning else {})


def told_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Name and arguments, these as text where they are long."""
    arguments = tool["arguments"]
    long = arguments is not None and len(text := json_text(arguments)) > SHOWN
    return {"name": str(tool["name"])[:SHOWN], "arguments": text[:SHOWN] if long else arguments}


def json_text(value: Any) -> str:
    try:
        return canonical.compact(value).decode("utf-8", "replace")
    except (ValueError, RecursionError):
        return "arguments that can't be written down".ljust(SHOWN + 1)


def decided(answer: Answer) -> dict[str, Any]:
    """{question: its answer in a word, and the probability of that}."""
    found: dict[str, Any] = {}
    for name, row in islice((answer.decisions or {}).items(), SHOWN):
        if isinstance(row, dict):
            chances = [p for p in judging.distribution(row) if judging.is_share(p)]
            found[str(name)[:64]] = {"answer": safe_verdict(row), "highest": rounded(max(chances, default=0.0))}
    return found


def safe_verdict(row: dict[str, Any]) -> str | None:
    return None if list(judging.broken_numbers("", row)) else judging.verdict(row)[:80]


PROBE = Probe("requests", skip, run)
