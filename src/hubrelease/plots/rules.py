"""Rules across the keys of card.plots that the schema of release.yaml can't say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hubrelease.card_rules import SOURCES, figure_problems
from hubrelease.errors import Problem, Where, problem

NEEDS = {"recovery": "bars", "latency": "receipt", "reliability": "receipt", "throughput": "series"}


def plot_problems(plots: Sequence[Mapping[str, Any]], locate: Callable[[str], Where]) -> Iterator[Problem]:
    """Each kind takes its figures under one key; every figure is one."""
    for number, plot in enumerate(plots):
        at = f"/card/plots/{number}"
        needed = NEEDS[plot["kind"]]
        if needed not in plot:
            yield problem("spec-invalid", locate(at), f'"{needed}" is missing', f"a plot of the kind {plot['kind']} is made from it")
        for key in sorted({*NEEDS.values()} - {needed}):
            if key in plot:
                yield problem("spec-invalid", locate(f"{at}/{key}"), f'"{key}" is not for plots of the kind {plot["kind"]}', "remove it")
        for pointer, figure in figures_in(plot):
            yield from figure_problems(figure, at + pointer, locate, SOURCES)


def figures_in(plot: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for n, bar in enumerate(plot.get("bars", ())):
        yield f"/bars/{n}/figure", bar["figure"]
    for n, series in enumerate(plot.get("series", ())):
        for k, point in enumerate(series["points"]):
            yield from ((f"/series/{n}/points/{k}/{key}", point[key]) for key in ("concurrency", "throughput"))
