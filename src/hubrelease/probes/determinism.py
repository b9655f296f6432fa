"""The same request twice gives the same answer."""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.engines import Answer
from hubrelease.probes import Probe, Row, Session, judged
from hubrelease.suites import Request

KINDS = ("decision", "chat", "completion")


def skip(session: Session) -> str | None:
    return None if chosen(session) else "no request of the suite was answered"


def chosen(session: Session) -> Request | None:
    """The first request with an answer, of those that cost least."""
    return next((r for r in session.suite.of(*KINDS) if r.name in session.answers), None)


def run(session: Session) -> Iterator[Row]:
    request = chosen(session)
    assert request is not None
    again = session.engine.ask(request)
    same = content(again) == content(session.answers[request.name])
    yield judged("determinism", {"request": request.name, "runs": 2, "same": same}, {"same": {"is": True}, "why": "answers are greedy"})


def content(answer: Answer) -> object:
    return (answer.text, answer.tool) if answer.decisions is None else answer.decisions


PROBE = Probe("determinism", skip, run)
