"""A figure as a card shows it: number, decimals, percent; and whether a value of a receipt is that figure.

A card may show a fraction as a percentage or the other way round, and rounds half up or half to even: all of these fit.
Truncated figures do not, nor do approximations ("about 42"), differences ("+1.2") and ranges, which are left alone.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

FIGURE = re.compile(
    r"(?P<sign>-?)(?P<whole>\d{1,3}(?:,\d{3})+|\d*)(?P<part>\.\d+)?\s?(?P<percent>%?)"
    r"(?:\s*(?:(?:±|\+/-|\+-)\s*\d*\.?\d+\s*%?|\([^()]{0,60}\)|[↑↓†‡*]))*"
)
STATED = "(stated)"  # cards.py's mark of a figure that the publisher gives without a receipt
MAX_LENGTH = 120


class Shown(NamedTuple):
    """`text` is the number as it stands there."""

    number: Decimal
    decimals: int
    is_percent: bool
    text: str

    @property
    def half(self) -> Decimal:
        """Half of the last place: how far off a rounded value can be."""
        return Decimal(5).scaleb(-self.decimals - 1)


def figure_of(text: str) -> Shown | None:
    """The figure that a cell holds, None where it holds none or something else besides."""
    text = text.strip().replace("\u2212", "-").replace("\u00a0", " ")
    found = FIGURE.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None or not (found["whole"] or found["part"]) or STATED in text:
        return None
    digits = found["sign"] + (found["whole"] or "0").replace(",", "") + (found["part"] or "")
    shown = found["sign"] + found["whole"] + (found["part"] or "") + found["percent"]
    return Shown(Decimal(digits), len(found["part"] or ".") - 1, bool(found["percent"]), shown)


def fits(shown: Shown, value: float) -> bool:
    """True if `shown` is `value` at the precision shown, as it is, as a percentage or as a fraction."""
    exact = Decimal(repr(value))
    forms = [exact, exact.scaleb(2)] if abs(value) <= 1 else [exact, *([] if shown.is_percent else [exact.scaleb(-2)])]
    return any(abs(shown.number - form) <= shown.half for form in forms)


def percent_and_fraction(shown: Shown) -> Decimal:
    """The figure as a percentage."""
    return shown.number if shown.is_percent or abs(shown.number) > 1 else shown.number.scaleb(2)
