"""What a plot shows, in words: for those who can't see it. Made from the same figures, as the card shows them."""

from __future__ import annotations

from collections.abc import Iterable

from hubrelease.plots.figures import Plot, Series


def alt_text(plot: Plot) -> str:
    """One paragraph of plain text: the title, then every value."""
    return " ".join(f"{plot.title}. {'; '.join(SAYS[plot.kind](plot))}.".split())


def recovery(plot: Plot) -> Iterable[str]:
    (bars,) = plot.series
    return (f"{bar.label} {bar.y.shown}" for bar in bars.points)


def latency(plot: Plot) -> Iterable[str]:
    names = " against ".join(series.name for series in plot.series)
    values = zip(*(series.points for series in plot.series), strict=True)
    return [names, *(f"{points[0].label} tokens " + " against ".join(point.y.shown for point in points) for points in values)]


def reliability(plot: Plot) -> Iterable[str]:
    return (f"{s.name}, {s.note}: " + ", ".join(f"{p.y.shown} at {p.x.shown}" for p in s.points if p.x) for s in plot.series)


def throughput(plot: Plot) -> Iterable[str]:
    return (named(s) + ", ".join(f"{p.y.shown} at concurrency {p.x.shown}" for p in s.points if p.x) for s in plot.series)


def named(series: Series) -> str:
    return f"{series.name}: " if series.name else ""


SAYS = {"recovery": recovery, "latency": latency, "reliability": reliability, "throughput": throughput}
