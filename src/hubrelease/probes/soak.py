"""Requests of the latency probe's sizes, one to eight at a time, for as long as release.yaml says; failures are counted."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, cycle
from time import monotonic
from typing import Any

from hubrelease.engines import EngineFault
from hubrelease.engines.transformers import Transformers
from hubrelease.probes import Probe, Row, Session, judged, rounded
from hubrelease.probes.latency import kind_of, request_of
from hubrelease.suites import Request

WIDTHS = (1, 2, 4, 8)


def skip(session: Session) -> str | None:
    if session.suite.soak_s <= 0:
        return "release.yaml asks for none (validation.soak_s)"
    return None if kind_of(session) else "the release takes no text alone"


def run(session: Session) -> Iterator[Row]:
    kind = kind_of(session)
    assert kind is not None
    sizes = (request_of(kind, size, which) for which, size in zip(count(), cycle(session.suite.latency_tokens or (32,)), strict=False))
    widths = cycle((1,) if isinstance(session.engine, Transformers) else WIDTHS)  # a model in this process answers one at a time
    failures: list[str] = []
    asked, began = 0, monotonic()
    while monotonic() - began < session.suite.soak_s:
        width = next(widths)
        with ThreadPoolExecutor(width) as pool:
            found = list(pool.map(lambda request: failure(session, request), [next(sizes) for _ in range(width)]))
        asked += width
        failures += [text for text in found if text]
        if len(failures) > asked // 2 + 8:
            break  # it has gone; more of the same tells nothing
    measured: dict[str, Any] = {"requests": asked, "failures": len(failures), "seconds": rounded(monotonic() - began)}
    measured |= {"first": failures[0][:200]} if failures else {}
    limit = {
        "requests": {"min": 1},
        "failures": {"max": session.suite.at_most("soak_failures")},
        "why": session.suite.reason("soak_failures"),
    }
    yield judged("soak", measured, limit)


def failure(session: Session, request: Request) -> str | None:
    try:
        session.engine.ask(request)
    except EngineFault as fault:
        return fault.message
    return None


PROBE = Probe("soak", skip, run, required=False)
