"""The probes, one file each: something that is run on a device and measured. Their order is validator.PROBES.

A probe yields rows, one for each thing that it looked at. What can't be run is a row `skipped` with the reason, which is
never a pass. Starting, timing, catching and writing are round them, in validator.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hubrelease.engines import Answer, Engine
from hubrelease.gpus import Found
from hubrelease.release import Release
from hubrelease.suites import Suite
from hubrelease.validated import FAIL, PASS, SKIPPED

__all__ = ["FAIL", "PASS", "SKIPPED", "Probe", "Row", "Session", "fits", "judged", "never", "rounded"]


@dataclass(frozen=True)
class Row:
    """A check of the report. `limit` has the keys of `measured` that were judged: {"max": x}, {"min": x} or {"is": x}, and `why`."""

    name: str
    status: str
    required: bool = True
    measured: Mapping[str, Any] = field(default_factory=dict)
    limit: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "status": self.status, "required": self.required}
        found |= {"measured": dict(self.measured)} if self.measured else {}
        found |= {"limit": dict(self.limit)} if self.limit else {}
        return found | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True)
class Session:
    """What a probe works with. `answers` keeps what came back, by the request's name; `promised` are compute capabilities."""

    release: Release
    suite: Suite
    engine: Engine
    device: str
    found: Found
    promised: tuple[str, ...]
    answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Of the GPUs that this ran on."""
        return tuple(dict.fromkeys(gpu.capability for gpu in self.found.gpus)) if self.device == "cuda" else ()


@dataclass(frozen=True)
class Probe:
    """`skip` gives the reason why there is nothing to run; the row is then required or not as `required` says."""

    name: str
    skip: Callable[[Session], str | None]
    run: Callable[[Session], Iterator[Row]]
    required: bool = True


def never(session: Session) -> str | None:
    """Nothing keeps the probe from running."""
    return None


def judged(name: str, measured: Mapping[str, Any], limit: Mapping[str, Any], required: bool = True) -> Row:
    """The row that measured values and their limits make. A value that is not there, or NaN, fits no limit."""
    bad = [said(key, measured.get(key), bound) for key, bound in limit.items() if key != "why" and not fits(measured.get(key), bound)]
    return Row(name, FAIL if bad else PASS, required, measured, limit, "; ".join(bad) or None)


def fits(value: Any, bound: Mapping[str, Any]) -> bool:
    if "is" in bound:
        return bool(value == bound["is"])
    if not isinstance(value, (int, float)) or math.isnan(value):
        return False
    return bool(bound.get("min", value) <= value <= bound.get("max", value))


def said(key: str, value: Any, bound: Mapping[str, Any]) -> str:
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    if "is" in bound:
        return f"{key} is {shown}, not {bound['is']}"
    over = "max" in bound and not (isinstance(value, (int, float)) and value <= bound["max"])
    return f"{key} is {shown}, {'more' if over else 'less'} than {bound['max' if over else 'min']}"


def rounded(value: float) -> float:
    return float(f"{value:.6g}")
