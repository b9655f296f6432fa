"""A plot as values: what it shows, each value a Figure with its source. Made without a plotting library, so that alt text needs none."""

from __future__ import annotations

from dataclasses import dataclass

from hubrelease.errors import Where
from hubrelease.facts import Figure


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its place: a name (`label`), or a figure where the axis is one of numbers."""

    y: Figure
    label: str = ""
    x: Figure | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """`note` is a figure that the legend adds to the name, as it is shown."""

    name: str
    points: tuple[Point, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """One item of card.plots. `where` is its place in release.yaml."""

    kind: str
    file: str
    title: str
    series: tuple[Series, ...]
    where: Where

    def figures(self) -> tuple[Figure, ...]:
        """Every figure in it: what a check computes again."""
        points = [point for series in self.series for point in series.points]
        return tuple(figure for point in points for figure in (point.x, point.y) if figure is not None)

    def texts(self) -> tuple[str, ...]:
        """Every text that the picture takes from release.yaml or a receipt."""
        series = [text for one in self.series for text in (one.name, one.note)]
        points = [text for one in self.series for point in one.points for text in (point.label, point.y.shown)]
        return (self.title, *series, *points)


def number(figure: Figure) -> float:
    """The value in the base unit of its kind: seconds, bytes, a fraction of one for percent."""
    return float(figure.amount.number) if figure.amount else 0.0
