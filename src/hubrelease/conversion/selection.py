"""Which tensors are derived again from the base."""

from __future__ import annotations

from dataclasses import dataclass

from hubrelease.errors import Problem


@dataclass(frozen=True)
class Selection:
    """Tensors whose name fits `pattern`, else `sample` of them (None: all)."""

    pattern: str | None = None
    sample: int | None = 16


@dataclass(frozen=True)
class Rederived:
    """What was derived: names of the base's tensors, how many there are in all, and what differs."""

    names: tuple[str, ...]
    of: int
    problems: tuple[Problem, ...]
