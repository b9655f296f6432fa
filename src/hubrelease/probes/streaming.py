"""The same request streamed and not streamed gives the same text."""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.probes import Probe, Row, Session, judged

SHOWN = 300


def skip(session: Session) -> str | None:
    if not session.suite.of("streaming"):
        return "no request of the suite is streamed"
    return None if "streaming" in session.engine.kinds else f"{session.engine.facts().name} has no stream"


def run(session: Session) -> Iterator[Row]:
    for request in session.suite.of("streaming"):
        plain, stream = session.engine.ask(request), session.engine.ask(request, stream=True)
        same = plain.text == stream.text and plain.text != ""
        measured = {"same": same, "chunks": stream.chunks, "output": plain.text[:SHOWN]}
        measured |= {} if same else {"streamed": stream.text[:SHOWN]}
        yield judged(f"streaming:{request.name}", measured, {"same": {"is": True}, "chunks": {"min": 2}}, request.required)


PROBE = Probe("streaming", skip, run, required=False)
