"""Every shard loads, and no tensor is missing, unexpected or of another shape.

transformers says so itself. A server that was started refuses what it can't load; of what it ignores in silence the
architecture's own list of tensors is held against the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hubrelease.probes import Probe, Row, Session, judged, never

NAMED = 10


def run(session: Session) -> Iterator[Row]:
    shards = {path: len(session.release.containers.tensors_of(path)) for path in session.release.containers.all if "/" not in path}
    said = session.engine.facts().load
    if said is not None:
        found: dict[str, list[str]] = {key: list(said[key]) for key in ("missing", "unexpected", "mismatched") if key in said}
    else:
        found = by_architecture(session)
    measured: dict[str, Any] = {"shards": len(shards), "tensors": sum(shards.values()), **{key: len(names) for key, names in found.items()}}
    measured |= {"names": names} if (names := [name for group in found.values() for name in group][:NAMED]) else {}
    limit: dict[str, Any] = {
        "shards": {"min": 1},
        **{key: {"is": 0} for key in found},
        "why": "a tensor too few or too many is another model",
    }
    yield judged("load", measured, limit)


def by_architecture(session: Session) -> dict[str, list[str]]:
    """Of each model of the release whose architecture is known; nothing where none is."""
    found: dict[str, list[str]] = {}
    for _, comparison in session.release.comparisons:
        found.setdefault("missing", []).extend(e.name for e in comparison.missing)
        found.setdefault("unexpected", []).extend(comparison.unexpected)
        found.setdefault("mismatched", []).extend(e.name for e, _ in comparison.misshapen)
    return found


PROBE = Probe("load", never, run)
