"""Text with figures in it: which part of a line is which figure, kept through filters and templates to its place in the card.

In a template's output a figure stands between marks that no text can hold, for they are made anew in each process. `placed`
takes them out again and says where each figure stands.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hubrelease.facts import Figure

TAG = secrets.token_hex(8)  # of one width, so that no template sees a difference between two runs
START, END = f"\x02{TAG}:", f"\x03{TAG}\x03"
OPENED = re.compile(re.escape(START) + r"(\d{6})\x02")
MARK = re.compile(re.escape(START) + r"\d{6}\x02|" + re.escape(END))
Segment = tuple[str, Figure | None]


class Pieces(str):
    """Text that knows its figures. As a str it is the text alone."""

    segments: tuple[Segment, ...]
    __slots__ = ("segments",)

    def __new__(cls, segments: Iterable[Segment]) -> Pieces:
        found = tuple(segments)
        made = super().__new__(cls, "".join(text for text, _ in found))
        made.segments = found
        return made

    def each(self, change: Callable[[str], str]) -> Pieces:
        return Pieces((change(text), figure) for text, figure in self.segments)


def one(figure: Figure, text: str | None = None) -> Pieces:
    return Pieces([(figure.shown if text is None else text, figure)])


class TracedInt(int):
    """A number that knows where it was found."""

    figure: Figure


class TracedFloat(float):
    figure: Figure


def traced(value: object, source: str, file: str, pointer: str = "") -> object:
    """A JSON value whose numbers know their pointers, for templates."""
    from hubrelease.strict_yaml import pointer_to

    if isinstance(value, dict):
        return {key: traced(inner, source, file, pointer + pointer_to(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [traced(inner, source, file, f"{pointer}/{i}") for i, inner in enumerate(value)]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number = TracedInt(value) if isinstance(value, int) else TracedFloat(value)
    number.figure = Figure(value, str(value), source, file, pointer)
    return number


def figure_in(value: object) -> Figure | None:
    return value.figure if isinstance(value, (TracedInt, TracedFloat)) else None


def outside_marks(text: str, change: Callable[[str], str]) -> str:
    """`change` of each part of a text that a template captured, with its marks left as they are."""
    if START not in text and END not in text:
        return change(text)
    parts, marks = MARK.split(text), MARK.findall(text)
    return "".join(change(part) + mark for part, mark in zip(parts, [*marks, ""], strict=True))


class Marker:
    """Marks what is printed: the text of figures goes out between marks with their number."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def __call__(self, value: object) -> object:
        if isinstance(value, Pieces):
            return "".join(text if figure is None else self.mark(text, figure) for text, figure in value.segments)
        figure = figure_in(value)
        return value if figure is None else self.mark(str(value), figure)

    def mark(self, text: str, figure: Figure) -> str:
        self.figures.append(figure)
        return f"{START}{len(self.figures) - 1:06}\x02{text}{END}"


@dataclass(frozen=True, slots=True)
class Placed:
    """A figure where it stands in the card: line from 1, columns in characters from 1, the end not included."""

    figure: Figure
    text: str
    line: int
    column: int
    end_column: int


class BrokenMarks(Exception):
    """A template cut a figure apart."""


def placed(marked: str, figures: list[Figure]) -> tuple[str, list[Placed]]:
    """The text without marks, and where the figures stand in it."""
    text, found = [], []
    for number, line in enumerate(marked.split("\n"), 1):
        plain, here = line_of(line, number, figures)
        text.append(plain)
        found += here
    return "\n".join(text), found


def line_of(line: str, number: int, figures: list[Figure]) -> tuple[str, list[Placed]]:
    done, found, at = "", list[Placed](), 0
    while opened := OPENED.search(line, at):
        done += line[at : opened.start()]
        end = line.find(END, opened.end())
        inner = line[opened.end() : end]
        if end < 0 or START in inner:
            raise BrokenMarks
        found.append(Placed(figures[int(opened[1])], inner, number, len(done) + 1, len(done) + len(inner) + 1))
        done, at = done + inner, end + len(END)
    done += line[at:]
    if "\x02" in done or "\x03" in done:
        raise BrokenMarks
    return done, found
