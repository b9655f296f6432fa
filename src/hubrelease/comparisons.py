"""Whether two figures can be compared: the runs behind them had the same task, version, shots, filter, limit and chat template;
times and rates also the same load.

What an adapter knows of both sides is held against each other; what neither receipt says can't be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hubrelease.evaluations import Evaluation, Metric

Measured = tuple[Evaluation, Metric]
Find = Callable[[str, str], Measured | None]  # (file, pointer) → what an adapter read there
Leaf = tuple[str, str]
LOAD = (
    "request rate",
    "concurrency at most",
    "concurrency",
    "dataset",
    "range ratio",
    "batch size",
    "input tokens",
    "output tokens",
    "input tokens at most",
    "output tokens at most",
)  # conditions of a run on which its times and rates hang
TIMED = ("ms", "s", "tok/s", "req/s", "inputs/s")


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
    return found[1].task, found[1].metric, chosen(found)


def chosen(found: Measured) -> str:
    """The filter; none where that only says which of a receipt's two runs it is."""
    run, metric = found
    return "" if metric.filter in run.sides else metric.filter


def reason(mine: Measured, other: Measured) -> str | None:
    found = differences(mine, other)
    return f"{mine[0].file} and {other[0].file} differ in {', '.join(found)}" if found else None


def differences(mine: Measured, other: Measured) -> list[str]:
    (run, metric), (other_run, other_metric) = mine, other
    known: dict[str, tuple[object, object]] = {
        "task version": (metric.version, other_metric.version),
        "shots": (metric.shots, other_metric.shots),
        "samples": (metric.n, other_metric.n),
        **(load(dict(run.conditions), dict(other_run.conditions)) if metric.unit in TIMED else {}),
    }
    exact: dict[str, tuple[object, object]] = {
        "task": (metric.task, other_metric.task),
        "metric": (metric.metric, other_metric.metric),
        "filter": (chosen(mine), chosen(other)),
        "limit": (run.limit, other_run.limit),
        "chat template": (run.template, other_run.template),
    }
    if run.has_free_rows and run.file == other_run.file:
        exact = {"unit": (metric.unit, other_metric.unit)}
        known |= load(row_conditions(metric), row_conditions(other_metric))
    found = [f"{name} ({said(a)} and {said(b)})" for name, (a, b) in exact.items() if a != b]
    return found + [f"{name} ({said(a)} and {said(b)})" for name, (a, b) in known.items() if a is not None and b is not None and a != b]


def load(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, tuple[object, object]]:
    return {name: (ours.get(name), theirs.get(name)) for name in LOAD}


def row_conditions(metric: Metric) -> dict[str, str]:
    """What a row of plain figures was measured under: its filter is a list of names with their values."""
    parts = (part.rpartition(" ") for part in metric.filter.split(", "))
    return {name: value for name, _, value in parts}


def said(value: object) -> str:
    return "none" if value is None else str(value)[:40]
