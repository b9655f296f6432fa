"""Numbers as a card shows them: exact arithmetic, rounded once, half to even, in the unit that was asked for.

A value with a unit of time or size (`from`) is held in seconds or bytes, so that figures of one kind can be computed with
and shown in another unit without a rounding in between.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from hubrelease.errors import CheckFailed, Where, problem

EXACT = Context(prec=6000, rounding=ROUND_HALF_EVEN)  # a receipt's number has 4,300 digits at most: Python reads no longer ones
TIME = {"ns": Fraction(1, 10**9), "µs": Fraction(1, 10**6), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": Fraction(1),
        "min": Fraction(60), "h": Fraction(3600)}  # fmt: skip
SIZE = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
KINDS: Mapping[str, Mapping[str, Fraction]] = {"time": TIME, "size": {name: Fraction(factor) for name, factor in SIZE.items()}}
KIND_OF_FORM = {"bytes": "size", "duration": "time"}
BASE = {"size": "B", "time": "s"}
NO_NUMBER = ("nan", "inf", "-inf", "+inf", "infinity", "-infinity", "n/a")  # what harnesses write in a number's place
NUMBER_AS_TEXT = re.compile(r"[-+−]?(\d[\d,]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*%?")
IDLE = {"text": ("decimals", "from", "sign"), "percent": ("from",), "fraction": ("from",)}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in the base unit of its kind ("time": seconds, "size": bytes, "": as it stands)."""

    number: Fraction
    kind: str = ""
    unit: str = ""  # in which it was given


class Shown(NamedTuple):
    """`rounded` is the number that the text says, again in the base unit."""

    text: str
    rounded: Fraction | None


def refused(where: Where, message: str, mend: str) -> CheckFailed:
    return CheckFailed(problem("figure-fault", where, message, mend))


def show(value: object, asked: Mapping[str, Any], where: Where, file: str) -> str:
    """The value as text in the form asked for. CheckFailed (HR601) where it has none."""
    return shown(value, asked, where, file).text


def shown(value: object, asked: Mapping[str, Any], where: Where, file: str) -> Shown:
    form = asked.get("as", "text" if isinstance(value, str) else "number")
    refuse_idle(form, asked, where)
    if isinstance(value, str) and "as" not in asked and value.strip().lower() in NO_NUMBER:
        message = f"{file}{asked['pointer']} is {value[:40]!r}, not a finite number"
        raise refused(where, message, "point at a value that is one, or say `as: text`")
    if form == "text":
        if not isinstance(value, str):
            raise refused(where, f"{file}{asked['pointer']} is {type(value).__name__}, not text", "leave out `as: text`")
        return Shown(value + suffix(asked.get("unit", "")), None)
    return shown_amount(amount_of(value, asked, where, f"{file}{asked['pointer']}"), asked, where)


def refuse_idle(form: str, asked: Mapping[str, Any], where: Where) -> None:
    if idle := [key for key in IDLE.get(form, ()) if key in asked]:
        raise refused(where, f'"{idle[0]}" has no effect with `as: {form}`', f'remove "{idle[0]}"')


def amount_of(value: object, asked: Mapping[str, Any], where: Where, name: str) -> Amount:
    """A value of JSON as an Amount. CheckFailed for what is no finite number."""
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))):
        raise refused(where, f"{name} is {str(value)[:40]!r}, not a finite number", "correct the pointer, or the receipt")
    number = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    form_kind = KIND_OF_FORM.get(asked.get("as", ""), "")
    unit = asked.get("from", BASE.get(form_kind, ""))
    if not unit:
        return Amount(number)
    kind = kind_of(unit)
    if not kind or (form_kind and kind != form_kind):
        raise refused(where, f'"{unit}" is no unit of {form_kind or "time or size"}', f"write one of {', '.join((*TIME, *SIZE))}")
    return Amount(number * KINDS[kind][unit], kind, unit)


def is_number_as_text(value: object) -> bool:
    """True for text that is a number and nothing else: `"0.42"`, `"99.2 %"`."""
    return isinstance(value, str) and len(value) < 100 and NUMBER_AS_TEXT.fullmatch(value.strip()) is not None


def kind_of(unit: str) -> str:
    return next((kind for kind, units in KINDS.items() if unit in units), "")


def shown_amount(amount: Amount, asked: Mapping[str, Any], where: Where) -> Shown:
    form, decimals, sign = asked.get("as", "number"), asked.get("decimals"), bool(asked.get("sign"))
    if wanted := KIND_OF_FORM.get(form):
        if amount.kind != wanted:
            raise refused(where, f"`as: {form}` is for a {wanted}, and this is none", "leave it out, or give the operands their unit")
        if form == "bytes" and "unit" not in asked:
            return byte_shown(amount.number, 2 if decimals is None else decimals)
    if form == "percent":
        unit = asked.get("unit", "%")
        return scaled(amount.number, Fraction(1, 100), decimals, sign, unit if unit in ("", "%") else f" {unit}", where)
    unit = asked.get("unit", amount.unit)
    if form == "duration" and "unit" not in asked:
        unit = "ms" if abs(amount.number) < 1 else "s"
    if not amount.kind:
        return scaled(amount.number, Fraction(1), decimals, sign, suffix(unit), where)
    if unit not in KINDS[amount.kind]:
        raise refused(where, f'"{unit}" is no unit of {amount.kind}', f"write one of {', '.join(KINDS[amount.kind])}")
    default = {"duration": 1 if unit == "ms" else 3, "bytes": 2}.get(form)
    return scaled(amount.number, KINDS[amount.kind][unit], default if decimals is None else decimals, sign, suffix(unit), where)


def suffix(unit: str) -> str:
    return f" {unit}" if unit else ""


def scaled(number: Fraction, factor: Fraction, decimals: int | None, sign: bool, unit: str, where: Where) -> Shown:
    """`number` in units of `factor`."""
    inside = number / factor
    if decimals is None and not terminates(inside):
        raise refused(where, "has digits without end", "say to how many `decimals` it is to be rounded")
    text = rounded(inside, decimals)
    plus = "+" if sign and inside > 0 and text.strip("0.,") else ""
    return Shown(plus + text + unit, round_half_even(inside, decimals) * factor)


def terminates(number: Fraction) -> bool:
    """True if the number can be written in decimal digits."""
    left = number.denominator
    for prime in (2, 5):
        while left % prime == 0:
            left //= prime
    return left == 1


def round_half_even(number: Fraction, decimals: int | None) -> Fraction:
    return number if decimals is None else Fraction(round(number * 10**decimals), 10**decimals)


def rounded(number: Fraction | Decimal, decimals: int | None) -> str:
    """With commas at thousands. `round` of a Fraction is half to even."""
    exact = round_half_even(Fraction(number), decimals)
    places = decimals if decimals is not None else digits_after(exact)
    return f"{EXACT.scaleb(Decimal(int(exact * 10**places)), -places):z,f}"  # z: no minus sign before a zero


def digits_after(number: Fraction) -> int:
    """Digits after the point that a terminating number needs."""
    twos = fives = 0
    left = number.denominator
    while left % 2 == 0:
        left, twos = left // 2, twos + 1
    while left % 5 == 0:
        left, fives = left // 5, fives + 1
    return max(twos, fives)


def byte_text(number: Decimal | Fraction, decimals: int = 2) -> str:
    """Bytes in the largest unit that does not show less than 1: 999,999 bytes are 1.00 MB, not 1,000.00 kB."""
    return byte_shown(Fraction(number), decimals).text


def byte_shown(number: Fraction, decimals: int) -> Shown:
    if number < 1000:
        return Shown(f"{rounded(number, None)} bytes", number)
    for unit in ("kB", "MB", "GB"):
        text = rounded(number / SIZE[unit], decimals)
        if "," not in text or unit == "GB":
            break
    return Shown(f"{text} {unit}", round_half_even(number / SIZE[unit], decimals) * SIZE[unit])
