"""Tables that release.yaml asks for, in the card that is there: each figure with the text that its receipt gives.

The embedded spec says of every cell where it comes from, so nothing has to be guessed; a table that the card does not have,
or has under another heading or with other columns, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from hubrelease.card_text import Table
from hubrelease.claim_words import whole_key
from hubrelease.errors import ReleaseError, Where
from hubrelease.facts import MISSING, resolve, show

if TYPE_CHECKING:
    from hubrelease.release import Release

FORMS = ("number", "percent", "fraction", "bytes", "text")


class Expected(NamedTuple):
    """A cell: what the card shows, what it should show, and where that stands."""

    line: int
    header: str
    shown: str
    wanted: str
    file: str
    pointer: str


def expected_cells(release: Release) -> Iterator[Expected]:
    """The cells of the card that the spec traces to a receipt."""
    card = release.spec.get("card")
    asked = card.get("tables") if isinstance(card, dict) else None
    for table in asked if isinstance(asked, list) else ():
        found = table_for(release, table) if isinstance(table, dict) else None
        rows = table.get("rows") if found else None
        if found and isinstance(rows, list) and len(rows) == len(found.rows):
            yield from cells_of(release, rows, found)


def table_for(release: Release, asked: dict[str, Any]) -> Table | None:
    """The card's table under the title, with the columns, that the spec gives; None unless there is exactly one."""
    title, columns = asked.get("title"), asked.get("columns")
    if release.card is None or not isinstance(title, str) or not isinstance(columns, list):
        return None
    wanted = [whole_key(str(column)) for column in columns]
    under = [t for t in release.card.tables if t.headings and whole_key(t.headings[-1]) == whole_key(title)]
    found = [t for t in under if [whole_key(header) for header in t.headers] == wanted]
    return found[0] if len(found) == 1 else None


def cells_of(release: Release, rows: list[Any], table: Table) -> Iterator[Expected]:
    for asked, row in zip(rows, table.rows, strict=True):
        if isinstance(asked, list) and len(asked) == len(row.cells):
            for cell, header, shown in zip(asked, table.headers, row.cells, strict=True):
                wanted = text_of(release, cell)
                if wanted is not None:
                    yield Expected(row.line, header, shown, wanted, cell["receipt"], cell["pointer"])


def text_of(release: Release, asked: Any) -> str | None:
    """The text of a figure from a receipt; None for words, for other sources, and where the receipt has nothing there."""
    if not is_figure(asked):
        return None
    value = resolve(release.json(asked["receipt"]), asked["pointer"])
    try:
        return None if value is MISSING else show(value, asked, Where(asked["receipt"]), asked["receipt"])
    except (ReleaseError, TypeError, ValueError, ArithmeticError):
        return None  # a figure-fault at the build; here there is nothing to hold the cell against


def is_figure(asked: Any) -> bool:
    """True for a cell as release.schema.json has it: an embedded spec is a document like any other, and can be hostile."""
    if not isinstance(asked, dict) or not isinstance(asked.get("receipt"), str) or not isinstance(asked.get("pointer"), str):
        return False
    decimals, unit = asked.get("decimals", 0), asked.get("unit", "")
    return type(decimals) is int and 0 <= decimals <= 12 and isinstance(unit, str) and asked.get("as", "number") in FORMS
