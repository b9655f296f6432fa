"""The formulas by which a figure is computed from others: by name, exact, each with its reading in words.

Those that compare hold two runs against each other, which must have been made alike (comparisons.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

Numbers = Sequence[Fraction]


class Formula(NamedTuple):
    """`reading` is the formula for people; a, b are the operands in order. `takes` None: one or more.

    `keeps_kind`: the result is a time or a size where the operands are. `form` and `sign` say how it is shown unless asked otherwise.
    """

    reading: str
    takes: int | None
    apply: Callable[[Numbers], Fraction]
    compares: bool = False
    keeps_kind: bool = False
    form: str = "number"
    sign: bool = False


def product(numbers: Numbers) -> Fraction:
    found = Fraction(1)
    for number in numbers:
        found *= number
    return found


class Unfit(ValueError):
    """Why a formula says nothing of its operands, and which one to ask for."""

    def __init__(self, reason: str, mend: str) -> None:
        self.mend = mend
        super().__init__(reason)


def part(numbers: Numbers) -> Fraction:
    """a / b, b being what percentages are of."""
    if numbers[1] < 0:
        raise Unfit("b is below zero, and a percentage of it would say the opposite", "ask for the difference")
    return numbers[0] / numbers[1]


def lower(numbers: Numbers) -> Fraction:
    found = 1 - part(numbers)
    if found < 0:
        raise Unfit("a is higher than b", "ask for percent_higher")
    return found


def higher(numbers: Numbers) -> Fraction:
    found = part(numbers) - 1
    if found < 0:
        raise Unfit("a is lower than b", "ask for percent_lower")
    return found


FORMULAS: Mapping[str, Formula] = {
    "recovery": Formula("100 × a / b", 2, part, compares=True, form="percent"),
    "change": Formula("100 × (a − b) / b", 2, lambda n: part(n) - 1, compares=True, form="percent", sign=True),
    "percent_lower": Formula("100 × (b − a) / b", 2, lower, compares=True, form="percent"),
    "percent_higher": Formula("100 × (a − b) / b", 2, higher, compares=True, form="percent"),
    "difference": Formula("a − b", 2, lambda n: n[0] - n[1], compares=True, keeps_kind=True, sign=True),
    "ratio": Formula("a / b", 2, lambda n: n[0] / n[1], compares=True),
    "share": Formula("100 × a / b", 2, lambda n: n[0] / n[1], form="percent"),
    "quotient": Formula("a / b", 2, lambda n: n[0] / n[1]),
    "product": Formula("a × b × …", None, product),
    "sum": Formula("a + b + …", None, lambda n: sum(n, Fraction(0)), keeps_kind=True),
    "average": Formula("(a + b + …) / count", None, lambda n: sum(n, Fraction(0)) / len(n), keeps_kind=True),
    "minimum": Formula("the least of a, b, …", None, min, keeps_kind=True),
    "maximum": Formula("the greatest of a, b, …", None, max, keeps_kind=True),
}
