"""The engine starts on the release folder: a server as the Dockerfile would start it, a model in this process, one that runs answers."""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.probes import PASS, Probe, Row, Session, never


def run(session: Session) -> Iterator[Row]:
    measured = session.engine.start(session.suite)
    limit = {"readyS": {"max": session.suite.at_most("start_s")}, "why": session.suite.reason("start_s")} if "readyS" in measured else {}
    yield Row("start", PASS, measured=measured, limit=limit)


PROBE = Probe("start", never, run)
