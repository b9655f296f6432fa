"""The four kinds of plots, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hubrelease.plots import style
from hubrelease.plots.figures import Plot, Point, number


def drawn(plot: Plot) -> bytes:
    """The plot as a PNG. OutsideError without matplotlib; CheckFailed for text that its font can't show."""
    with style.settings():
        style.refuse_letters(plot)
        return style.png(KINDS[plot.kind](plot))


def recovery(plot: Plot) -> Any:
    """Bars from the baseline: what is above 100 % to the right of it, what is below to the left."""
    bars = plot.series[0].points
    labels = [style.wrapped(bar.label, 28) for bar in bars]
    figure, axes = style.blank(1.7 + max(0.55, *(0.26 * (label.count("\n") + 1) for label in labels)) * len(bars))
    values = [100 * number(bar.y) for bar in bars]
    rows = range(len(bars), 0, -1)
    colours = [style.COLOURS[0] if value >= 100 else style.COLOURS[1] for value in values]
    axes.barh(rows, [value - 100 for value in values], left=100, height=0.6, color=colours)
    reach = max(1.0, *(abs(value - 100) for value in values)) * 1.6
    axes.set_xlim(100 - reach, 100 + reach)
    axes.set_yticks(list(rows), labels)
    axes.tick_params(axis="y", length=0)
    axes.axvline(100, color=style.TEXT, linewidth=2)
    for row, value, bar in zip(rows, values, bars, strict=True):
        side = 1 if value >= 100 else -1
        axes.annotate(
            bar.y.shown, (value, row), xytext=(6 * side, 0), textcoords="offset points", va="center", ha="left" if side > 0 else "right"
        )
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(locator(5))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}%")
    axes.set_xlabel("of the baseline's score (bars begin at 100%)")
    style.heading(axes, plot, [])
    return figure


def latency(plot: Plot) -> Any:
    """Mean latency, logarithmic, over buckets of input length."""
    figure, axes = style.blank(5.2)
    for n, series in enumerate(plot.series):
        values = [max(1000 * number(point.y), 1e-3) for point in series.points]
        line(axes, n, range(len(values)), values)
        for place, point in enumerate(series.points):
            name_point(axes, n, (place, values[place]), point.y.shown, ((-6, 6, "right", "bottom") if n else (7, -6, "left", "top")))
    axes.set_yscale("log")
    axes.margins(y=0.15)
    axes.set_xlim(-0.8, len(plot.series[0].points) - 0.3)
    axes.set_xticks(range(len(plot.series[0].points)), [point.label.replace("-", "-\n") for point in plot.series[0].points])
    axes.set_xlabel("input tokens")
    axes.set_ylabel("mean latency, ms (log)")
    plain_numbers(axes.yaxis)
    style.heading(axes, plot, names_of(plot))
    return figure


def reliability(plot: Plot) -> Any:
    """Accuracy over mean confidence of each bin, and the diagonal on which both are equal."""
    figure, axes = style.blank(6.4)
    axes.plot([0, 1], [0, 1], color=style.TEXT, linewidth=1.5, linestyle=":")
    for n, series in enumerate(plot.series):
        line(axes, n, [place_of(p) for p in series.points], [number(p.y) for p in series.points])
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("mean confidence")
    axes.set_ylabel("accuracy")
    style.heading(axes, plot, ["confidence = accuracy", *names_of(plot)], 1)
    return figure


def throughput(plot: Plot) -> Any:
    """Throughput over concurrency, by powers of two."""
    figure, axes = style.blank(5.2)
    at: dict[float, list[float]] = {}
    for point in (p for series in plot.series for p in series.points):
        at.setdefault(place_of(point), []).append(number(point.y))
    ticks, top = sorted(at), max(max(values) for values in at.values())
    for n, series in enumerate(plot.series):
        places, values = [place_of(p) for p in series.points], [number(p.y) for p in series.points]
        line(axes, n, places, values)
        for place, value, point in zip(places, values, series.points, strict=True):
            below = any(0 < other - value < 0.15 * top for other in at[place])
            name_point(axes, n, (place, value), point.y.shown, (0, -10, "center", "top") if below else (0, 10, "center", "bottom"))
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.margins(x=0.1, y=0.18)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("concurrent requests")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    style.heading(axes, plot, names_of(plot) if any(series.name for series in plot.series) else [])
    return figure


KINDS = {"recovery": recovery, "latency": latency, "reliability": reliability, "throughput": throughput}


def place_of(point: Point) -> float:
    return number(point.x) if point.x else 0.0


def line(axes: Any, n: int, places: Sequence[float], values: Sequence[float]) -> None:
    """A series in its own colour, marker and stroke."""
    look = {"color": style.COLOURS[n % 4], "marker": style.MARKERS[n % 4], "linestyle": style.LINES[n % 4]}
    axes.plot(places, values, **look)


def names_of(plot: Plot) -> list[str]:
    """What the legend says of each series."""
    return [", ".join(filter(None, (series.name, series.note))) for series in plot.series]


def name_point(axes: Any, n: int, place: tuple[float, float], shown: str, beside: tuple[int, int, str, str]) -> None:
    """A value as the card shows it, beside its point: offset in points right and up, alignment across and along."""
    right, up, across, along = beside
    look = {"ha": across, "va": along, "color": style.COLOURS[n % 4]}
    axes.annotate(shown, place, xytext=(right, up), textcoords="offset points", **look)


def locator(count: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(count, steps=[1, 2, 2.5, 5, 10])


def plain_numbers(axis: Any) -> None:
    """Ticks of a logarithmic axis as plain numbers, at powers of ten only."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10))
    axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axis.set_minor_formatter(NullFormatter())
