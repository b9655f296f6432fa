"""What is known of a run besides its rows: the header, and the sessions in which its rows were asked.

A run that was interrupted has several sessions; their samples are taken together. What was not recorded is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hubrelease import resources
from hubrelease.decisions.rows import EVENTS, RUN, SESSION
from hubrelease.errors import Problem, Where
from hubrelease.schema_problems import validate

SHOWN = ("profile", "model", "runtime", "packages", "environment", "dataset", "concurrency", "rotations", "tool")


@dataclass
class Run:
    """The header and the session records of one rows file."""

    header: Mapping[str, Any] = field(default_factory=dict)
    sessions: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def profile(self) -> str | None:
        named: str | None = self.header.get("profile") or self.header.get("model", {}).get("name")
        return named

    @property
    def concurrency(self) -> int | None:
        found: int | None = self.header.get("concurrency")
        return found

    @property
    def planned_rows(self) -> int | None:
        found: int | None = self.header.get("dataset", {}).get("rows")
        return found


def faults(record: Mapping[str, Any], file: str, line: int) -> list[Problem]:
    """What is wrong with a header or session record, by the schema."""
    kind = "run" if record.get("kind") == RUN else "session"
    whole = resources.schema("decision-row")
    schema = {"$schema": whole["$schema"], "$defs": whole["$defs"], **whole["$defs"][kind]}
    return validate(record, schema, lambda pointer: Where(file, line, pointer))


def is_run(record: Mapping[str, Any]) -> bool:
    return record.get("kind") == RUN


def is_session(record: Mapping[str, Any]) -> bool:
    return record.get("kind") == SESSION


def run_facts(run: Run) -> dict[str, Any]:
    """What the report says of a run: the header's facts, power limits, memory, sessions."""
    starts = [s for s in run.sessions if s["event"] == EVENTS[0]]
    warmups = [s["warmupRows"] for s in starts if "warmupRows" in s]
    return {key: run.header.get(key) for key in SHOWN} | {
        "profile": run.profile,
        "sessions": len(starts),
        "finished": bool(run.sessions) and run.sessions[-1]["event"] == EVENTS[2],
        "warmupRows": sum(warmups) if warmups else None,
        "powerLimit": power_limit(run.sessions),
        "memory": memory(run.sessions),
    }


def power_limit(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Watts a GPU at the first start and at the last end, and whether they were others at any time between."""
    known = [s for s in sessions if s.get("powerLimitW") is not None]
    if not known:
        return None
    last = known[-1] if known[-1]["event"] == EVENTS[2] else None
    return {
        "startW": known[0]["powerLimitW"] if known[0]["event"] == EVENTS[0] else None,
        "endW": last["powerLimitW"] if last else None,
        "changed": any(s["powerLimitW"] != known[0]["powerLimitW"] for s in known),
    }


def memory(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The highest sampled peak; samples of all sessions. A session's records count up, so its last one has its total."""
    totals: list[Mapping[str, Any]] = []
    for session in sessions:
        if session["event"] == EVENTS[0] or not totals:
            totals.append({})
        totals[-1] = session.get("memory") or totals[-1]
    known = [t for t in totals if t]
    peaks = [s["memory"]["peakMiB"] for s in sessions if s.get("memory")]
    if not known:
        return None
    samples = [t["samples"] for t in known if "samples" in t]
    return {
        "peakMiB": max(peaks),
        "scope": known[0].get("scope"),
        "samplePeriodS": known[0].get("samplePeriodS"),
        "samples": sum(samples) if samples else None,
    }
