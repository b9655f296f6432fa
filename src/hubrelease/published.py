"""What a publisher states for a figure (`published` in release.yaml), held against what the data gives.

Where both agree at the precision of what was published, nothing is said. Where they don't, the card shows what was published,
marked, and what the data gives; `check` and `card render` tell of it (HR619). Other figures are always computed from the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from hubrelease.amounts import KINDS, refused, shown_amount
from hubrelease.errors import Problem, ReleaseError, Where
from hubrelease.facts import FORM, Facts, Figure
from hubrelease.formulas import FORMULAS
from hubrelease.strict_yaml import pointer_to

CODE, KIND = "HR619", "published-differs"  # checks/hr619_published_differs.py
KEY = "published"
MARK = "†"
NUMBER = re.compile(r"([-+−]?)(\d[\d,]{0,40}(?:\.\d{1,40})?|\.\d{1,40})(?:\s*([^\s\d.,].{0,40}))?")
MAX_NAMED = 4  # operands that a message names


class Stated(NamedTuple):
    """A number as it was published, in the base unit, and how far off its rounding can have put it."""

    number: Fraction
    half: Fraction
    decimals: int
    unit: str


def beside(facts: Facts, figure: Figure, asked: Mapping[str, Any], where: Where, depth: int) -> Figure:
    """`figure`, with what was published for it if that is another value. CheckFailed (HR601) where the two can't be compared."""
    given = asked[KEY]
    given = {"spec": True, "pointer": f"{where.pointer}/{KEY}"} if isinstance(given, str) else given
    found = facts.figure(given, where, depth + 1)
    if figure.amount is None:
        return figure if found.shown.strip() == figure.shown else replace(figure, published=found)
    if found.amount is not None:  # a value of a receipt: in the form that the figure has
        found = facts.figure({**form_of(asked), **given}, where, depth + 1)
    stated = read(found.shown, figure, asked, where)
    if abs(figure.amount.number - stated.number) <= stated.half:
        return figure
    return replace(figure, shown=told_apart(figure, stated, asked, where), published=found)


def told_apart(figure: Figure, stated: Stated, asked: Mapping[str, Any], where: Where) -> str:
    """The figure's text with as many digits, and in the unit, in which it differs from what was published."""
    assert figure.amount is not None
    _, digits, unit = number_and_unit(figure.shown)
    form = form_of(asked)
    if figure.amount.kind and stated.unit not in ("", unit):
        return shown_amount(figure.amount, {**form, "unit": stated.unit, "decimals": stated.decimals}, where).text
    return figure.shown if digits >= stated.decimals else shown_amount(figure.amount, {**form, "decimals": stated.decimals}, where).text


def form_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """How the figure is shown, what its formula says of that included."""
    formula = FORMULAS.get(asked.get("compute", ""))
    form: dict[str, Any] = {"as": formula.form, **({"sign": True} if formula.sign else {})} if formula else {}
    return form | {key: asked[key] for key in (*FORM, "from") if key in asked}


def read(text: str, figure: Figure, asked: Mapping[str, Any], where: Where) -> Stated:
    number, decimals, unit = number_and_unit(text)
    if number is None:
        message = f'"{text[:60]}" is published for a number, and is no number'
        raise refused(where, message, "write it as it was published: a number and its unit")
    factor = factor_of(unit, figure, asked)
    if factor is None:
        own = number_and_unit(figure.shown)[2]
        message = f'"{text[:60]}" is published for a figure {f"in {own}" if own else "without a unit"}'
        raise refused(where, message, "write it in the figure's unit, or ask for the figure in another (`as`, `unit`)")
    return Stated(number * factor, Fraction(1, 2 * 10**decimals) * factor, decimals, unit)


def number_and_unit(text: str) -> tuple[Fraction | None, int, str]:
    """(number, digits behind the point, unit) of a figure's text; None where it is no number."""
    found = NUMBER.fullmatch(text.strip())
    if found is None:
        return None, 0, ""
    digits = found[2].replace(",", "")
    number = Fraction(digits if not digits.startswith(".") else "0" + digits)
    return (-number if found[1] in ("-", "−") else number), len(digits.partition(".")[2]), (found[3] or "").strip()


def factor_of(unit: str, figure: Figure, asked: Mapping[str, Any]) -> Fraction | None:
    """What a number in `unit` is multiplied with to be held against the figure's; None for a unit that is not its own."""
    own = number_and_unit(figure.shown)[2]
    if figure.amount is not None and figure.amount.kind:
        return KINDS[figure.amount.kind].get(unit or own)
    is_percent = form_of(asked).get("as") == "percent"
    if unit not in ("", own, "%" if is_percent else own):
        return None
    return Fraction(1, 100) if is_percent else Fraction(1)


# ------------------------------------------------------------------------------------------------------------- findings


def published_problems(facts: Facts) -> Iterator[Problem]:
    """A warning (HR619) for each figure that was published as another value than the data gives."""
    for pointer, asked in places(facts):
        try:
            figure = facts.figure(asked, facts.spec.where(pointer))
        except ReleaseError:
            continue  # rendering tells of it
        if figure.published is not None:
            where = facts.spec.where(f"{pointer}/{KEY}")
            mend = f"publish {figure.shown[:60]}, or give the data that it was made from: values before rounding, a part that is missing"
            yield Problem(CODE, KIND, where, message(figure), mend, "warning")


def places(facts: Facts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(pointer, figure) of everything in release.yaml that has a published value beside it."""
    card = facts.spec.card
    for name, asked in card.get("figures", {}).items():
        if KEY in asked:
            yield f"/card/figures{pointer_to(name)}", asked
    for number, table in enumerate(card.get("tables", ())):
        yield from in_table(facts, table, f"/card/tables/{number}")
    yield from inside(card.get("plots", ()), "/card/plots")


def in_table(facts: Facts, table: Mapping[str, Any], at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    from hubrelease import tables
    from hubrelease.phrases import Say, locales_of

    if not any(inside(table, at)):
        return
    try:
        _, rows = tables.layout(facts, table, at, Say(locales_of(facts.spec)[0]))
    except ReleaseError:
        return  # rendering tells of it
    for cell, pointer in (cell for row in rows for cell in row.cells):
        yield from inside(cell, pointer)


def inside(value: Any, pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(pointer, figure) of the figures with a published value somewhere in a value of release.yaml."""
    if isinstance(value, Mapping):
        if KEY in value:
            yield pointer, value
        for key, inner in value.items():
            yield from inside(inner, pointer + pointer_to(key))
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from inside(inner, f"{pointer}/{number}")


def message(figure: Figure) -> str:
    assert figure.published is not None
    place = "" if figure.published.source == "spec" else f" ({place_of(figure.published)})"
    how = f": {figure.formula}, of {operands(figure)}" if figure.formula else f" ({place_of(figure)})"
    return f"was published as {figure.published.shown[:60]}{place}, and the data gives {figure.shown[:60]}{how}"


def operands(figure: Figure) -> str:
    """The operands with their places, the first of them where they are many."""
    named = [f"{one.shown[:40]} ({one.formula.partition(':')[0] or place_of(one)})" for one in figure.operands[:MAX_NAMED]]
    more = len(figure.operands) - len(named)
    return f"{', '.join(named)} and {more} more" if more else " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def place_of(figure: Figure) -> str:
    return f"{figure.file[:100]}{figure.pointer[:150]}" if not figure.formula else figure.formula.partition(":")[0]
