"""What a plot shows, in words of the card's language: for those who can't see it. From the same figures, as the card shows them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from hubrelease.phrases import Say
from hubrelease.plots.figures import Plot, Point, Series


def alt_text(plot: Plot, say: Say) -> str:
    """One paragraph of plain text: the title, then every value."""
    return " ".join(f"{plot.title}. {'; '.join(SAYS[plot.kind](plot, say))}.".split())


def recovery(plot: Plot, _: Say) -> Iterable[str]:
    (bars,) = plot.series
    return (f"{bar.label} {bar.y.shown}" for bar in bars.points)


def latency(plot: Plot, say: Say) -> Iterable[str]:
    values = zip(*(series.points for series in plot.series), strict=True)
    rows = (say("alt_tokens", label=points[0].label, values=against([point.y.shown for point in points], say)) for points in values)
    return [against([series.name for series in plot.series], say), *map(str, rows)]


def against(texts: list[str], say: Say) -> str:
    return reduce(lambda a, b: str(say("alt_against", a=a, b=b)), texts)


def reliability(plot: Plot, say: Say) -> Iterable[str]:
    return (f"{s.name}, {s.note}: {places('alt_at', s.points, say)}" for s in plot.series)


def throughput(plot: Plot, say: Say) -> Iterable[str]:
    return (named(s) + places("alt_concurrency", s.points, say) for s in plot.series)


def places(key: str, points: tuple[Point, ...], say: Say) -> str:
    return ", ".join(str(say(key, y=p.y.shown, x=p.x.shown)) for p in points if p.x)


def named(series: Series) -> str:
    return f"{series.name}: " if series.name else ""


SAYS = {"recovery": recovery, "latency": latency, "reliability": reliability, "throughput": throughput}
