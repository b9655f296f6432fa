"""How checks tell of many things of one kind: a few of them, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from hubrelease.errors import Problem

SHOWN = 20  # findings of one kind in one file: nobody reads a thousand


def few(problems: Iterable[Problem], shown: int = SHOWN) -> Iterator[Problem]:
    """The first `shown` problems; one more says how many were left out, and is an error if one of those is."""
    rest = iter(problems)
    yield from islice(rest, shown)
    untold = list(islice(rest, 1))
    if not untold:
        return
    more, worst = 1, untold[0]
    for problem in rest:
        more += 1
        worst = problem if problem.severity == "error" and worst.severity != "error" else worst
    place = replace(worst.where, line=None, pointer=None, tensor=None)
    yield replace(worst, where=place, message=f"{more} more like the ones before it are not listed") if more > 1 else worst


def named(items: Iterable[str], shown: int = 3) -> str:
    """`a, b, c and 7 more`, each cut to what fits on a line."""
    rest = iter(items)
    text = ", ".join(item if len(item) <= 120 else f"{item[:117]}..." for item in islice(rest, shown))
    more = sum(1 for _ in rest)
    return f"{text} and {more} more" if more else text


def counted(count: int, noun: str) -> str:
    """`1 tensor`, `2 tensors`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
