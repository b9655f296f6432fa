"""Whether two figures can be compared: the runs behind them had the same task, version, shots, filter, limit and chat template.

What an adapter knows of both sides is held against each other; what neither receipt says can't be.
"""

from __future__ import annotations

from collections.abc import Callable

from hubrelease.evaluations import Evaluation, Metric

Measured = tuple[Evaluation, Metric]
Find = Callable[[str, str], Measured | None]  # (file, pointer) → what an adapter read there
Leaf = tuple[str, str]


def unlike(mine: list[Leaf], other: list[Leaf], find: Find) -> str | None:
    """What makes two figures, given by the places of the values behind them, no comparison; None if nothing is known to."""
    ours, theirs = measured(mine, find), measured(other, find)
    if not ours or not theirs:
        return None
    if len(ours) == len(theirs) == 1:
        return reason(ours[0], theirs[0])
    by_task = {names(m): m for m in theirs}
    if sorted(map(names, ours)) != sorted(by_task):
        lacking = sorted(set(map(names, ours)) ^ set(by_task))
        return f"one side lacks {' '.join(lacking[0]) if lacking else 'a task'}"
    return next((found for m in ours if (found := reason(m, by_task[names(m)]))), None)


def measured(leaves: list[Leaf], find: Find) -> list[Measured]:
    return [found for file, pointer in leaves if (found := find(file, pointer))]


def names(found: Measured) -> tuple[str, str, str]:
    return found[1].task, found[1].metric, found[1].filter


def reason(mine: Measured, other: Measured) -> str | None:
    found = differences(mine, other)
    return f"{mine[0].file} and {other[0].file} differ in {', '.join(found)}" if found else None


def differences(mine: Measured, other: Measured) -> list[str]:
    (run, metric), (other_run, other_metric) = mine, other
    known: dict[str, tuple[object, object]] = {
        "task version": (metric.version, other_metric.version),
        "shots": (metric.shots, other_metric.shots),
        "samples": (metric.n, other_metric.n),
    }
    exact: dict[str, tuple[object, object]] = {
        "task": (metric.task, other_metric.task),
        "metric": (metric.metric, other_metric.metric),
        "filter": (metric.filter, other_metric.filter),
        "limit": (run.limit, other_run.limit),
        "chat template": (run.template, other_run.template),
    }
    found = [f"{name} ({said(a)} and {said(b)})" for name, (a, b) in exact.items() if a != b]
    return found + [f"{name} ({said(a)} and {said(b)})" for name, (a, b) in known.items() if a is not None and b is not None and a != b]


def said(value: object) -> str:
    return "none" if value is None else str(value)[:40]
