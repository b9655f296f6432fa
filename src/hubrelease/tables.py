"""The card's tables: rows written out, rows for each item of a receipt (`each`), receipts held against each other (`compare`).

Those of a paired report (`decisions`) are decision_tables.py's. First what each cell asks for (`laid`), then the figures, so that
checks ask for the same cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hubrelease.amounts import refused
from hubrelease.card_words import Words, figures_of
from hubrelease.errors import ReleaseError, Where, problem
from hubrelease.facts import MISSING, Facts, Figure, resolve
from hubrelease.phrases import Say
from hubrelease.pieces import Pieces
from hubrelease.pieces import one as piece
from hubrelease.strict_yaml import pointer_to

Asked = Any  # words, a figure or a list of both, as release.schema.json has them
SECTIONS = ("results", "performance", "hardware")
VERSUS = {"compute": "recovery", "decimals": 1, "place": "column"}
MAX_ROWS = 2000
WORD = re.compile(r"[^\W\d_]{2}")


class Row(NamedTuple):
    """What a row's cells ask for, and where release.yaml says so."""

    cells: list[tuple[Asked, str]]
    pointer: str


class Laid(NamedTuple):
    """What a table asks for: its texts, and its cells row by row. `at` is its place in release.yaml."""

    title: Any
    note: Any
    headers: list[tuple[Any, str]]
    rows: list[Row]
    measured_by: str
    section: str
    at: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell as `shown`; `figure` is the first of its `figures`, or none."""

    shown: Pieces
    figures: tuple[Figure, ...] = ()
    is_number: bool = False  # figures that are numbers, and no words but the mark of a stated one

    @property
    def figure(self) -> Figure | None:
        return self.figures[0] if self.figures else None


@dataclass(frozen=True, slots=True)
class Published:
    """A cell that shows what was published (`published`), and what the data gives in its place (`computed`)."""

    row: Pieces
    column: Pieces
    computed: Pieces
    published: Pieces


@dataclass(frozen=True, slots=True)
class Table:
    title: Pieces
    note: Pieces | None
    measured_by: str
    section: str
    columns: tuple[Pieces, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[bool, ...] = ()  # of each column: whether it holds numbers, which stand to the right
    published: tuple[Published, ...] = ()


def build(words: Words) -> list[Table]:
    """The tables of the card. What is wrong with them is added to words.problems."""
    asked = enumerate(words.facts.spec.card.get("tables", ()))
    return [one(words, table) for number, entry in asked for table in of_entry(words, entry, f"/card/tables/{number}")]


def of_entry(words: Words, asked: Mapping[str, Any], at: str) -> list[Laid]:
    """The tables that one entry asks for; without rows where there are none to be had, so that its texts are looked at all the same."""
    try:
        return laid(words, asked, at)
    except ReleaseError as error:
        words.problems += error.problems
        return [] if "decisions" in asked else [plain(asked, [], [], at)]


def laid(words: Words, asked: Mapping[str, Any], at: str) -> list[Laid]:
    """What an entry of card.tables asks for. CheckFailed where a receipt does not have what the rows go over."""
    if "decisions" in asked:
        from hubrelease import decision_tables

        return decision_tables.laid(words, asked, at)
    return [plain(asked, *layout(words.facts, asked, at, words.say), at)]


def plain(asked: Mapping[str, Any], headers: list[tuple[Any, str]], rows: list[Row], at: str) -> Laid:
    by, section = asked.get("measured_by", "publisher"), asked.get("section", SECTIONS[0])
    return Laid(asked["title"], asked.get("note"), headers, rows, by, section, at)


def one(words: Words, table: Laid) -> Table:
    columns = tuple(words.text(header, pointer) for header, pointer in table.headers)
    for row in table.rows:
        if len(row.cells) != len(columns):
            message = f"the row has {len(row.cells)} cells, the table {len(columns)} columns"
            words.problems.append(problem("figure-fault", words.facts.spec.where(row.pointer), message, "add or remove cells"))
    cells = tuple(tuple(made(words, cell, pointer, n == 0) for n, (cell, pointer) in enumerate(row.cells)) for row in table.rows)
    return Table(
        words.text(table.title, f"{table.at}/title"),
        words.text(table.note, f"{table.at}/note", prose=True) if table.note is not None else None,
        table.measured_by,
        table.section,
        columns,
        cells,
        tuple(is_of_numbers(cells, n) for n in range(len(columns))),
        tuple(published_in(columns, cells)),
    )


def is_of_numbers(rows: tuple[tuple[Cell, ...], ...], column: int) -> bool:
    """True if every cell of a column is figures that are numbers, or empty. The first column has the rows' labels."""
    filled = [row[column] for row in rows if column < len(row) and row[column].shown.strip()]
    return column > 0 and bool(filled) and all(cell.is_number for cell in filled)


def published_in(columns: tuple[Pieces, ...], rows: tuple[tuple[Cell, ...], ...]) -> Iterator[Published]:
    for row in rows:
        for column, cell in zip(columns, row, strict=False):  # a row of another width is a problem of its own
            for figure in cell.figures:
                if figure.published is not None:
                    yield Published(row[0].shown, column, piece(replace(figure, published=None)), piece(figure.published))


def made(words: Words, asked: Asked, pointer: str, is_label: bool) -> Cell:
    shown = words.cell(asked, pointer, is_label)
    figures = figures_of(shown)
    beside = "".join(text for text, figure in shown.segments if figure is None).replace(str(words.say("stated")), "")
    is_number = bool(figures) and all(figure.amount is not None for figure in figures) and not WORD.search(beside)
    return Cell(shown, figures, is_number)


def layout(facts: Facts, asked: Mapping[str, Any], at: str, say: Say) -> tuple[list[tuple[Any, str]], list[Row]]:
    """(headers with their pointers, rows) of a table. CheckFailed where a receipt does not have what the rows go over."""
    headers = [(header, f"{at}/columns/{n}") for n, header in enumerate(asked.get("columns", ()))]
    if "compare" in asked:
        compared = Compared(facts, asked["compare"], f"{at}/compare", say)
        return headers or compared.headers(), list(compared.rows())
    if "each" in asked:
        return headers, list(each_row(facts, asked["each"], f"{at}/each"))
    rows = [(row, f"{at}/rows/{n}") for n, row in enumerate(asked["rows"])]
    return headers, [Row([(cell, f"{pointer}/{n}") for n, cell in enumerate(row)], pointer) for row, pointer in rows]


# ---------------------------------------------------------------------------------------------------------------- each


def each_row(facts: Facts, asked: Mapping[str, Any], at: str) -> Iterator[Row]:
    """A row for each item of a list or mapping in a receipt, or for each of several receipts."""
    for place in places(facts, asked, at):
        label = [(place.label, at)] if place.label is not None else []
        cells = [(relative(cell, place), f"{at}/cells/{n}") for n, cell in enumerate(asked["cells"])]
        yield Row([*label, *cells], f"{at}/cells")


class Place(NamedTuple):
    """What the pointers of a row's cells begin at."""

    receipt: str
    prefix: str
    key: str
    label: Any = None


def places(facts: Facts, asked: Mapping[str, Any], at: str) -> Iterator[Place]:
    for number, item in enumerate(asked.get("receipts", ())):
        name = item if isinstance(item, str) else item["receipt"]
        inside = asked.get("in", "")
        yield Place(name, inside, name.rpartition("/")[2], None if isinstance(item, str) else item.get("label", str(number + 1)))
    if "receipt" in asked:
        yield from items_of(facts, asked, facts.spec.where(at))


def items_of(facts: Facts, asked: Mapping[str, Any], where: Where) -> Iterator[Place]:
    name, inside = asked["receipt"], asked.get("in", "")
    value = resolve(facts.origin(asked, where)[2], inside)
    if value is MISSING or not isinstance(value, (list, dict)):
        raise refused(where, f"{name} has no list or mapping at {inside or 'its top'}", "correct `in`, or the receipt")
    keys = [str(key) for key in (value if isinstance(value, dict) else range(len(value)))]
    if absent := [key for key in asked.get("keys", ()) if key not in keys]:
        raise refused(where, f'{name}{inside} has no "{absent[0]}"', f"it has {', '.join(keys[:20])}")
    chosen = list(asked.get("keys", keys))
    if len(chosen) > MAX_ROWS:
        raise refused(where, f"{name}{inside} has {len(chosen):,} items, and a table {MAX_ROWS:,} at most", "choose some by their `keys`")
    for key in chosen:
        yield Place(name, inside + pointer_to(key), key)


def relative(asked: Asked, place: Place) -> Asked:
    """A cell of `each` with its pointers made whole. `{key: true}` is the item's own key."""
    if isinstance(asked, list):
        return [relative(part, place) for part in asked]
    if not isinstance(asked, Mapping):
        return asked
    if asked.get("key"):
        return place.key
    if "compute" in asked:
        found = {**asked, "of": [one if isinstance(one, str) else relative(one, place) for one in asked["of"]]}
        return beside(found, place)
    if any(key in asked for key in ("receipt", "payload", "lock", "spec", "figure", "words")):
        return asked
    whole = {**beside(asked, place), "receipt": place.receipt}
    return {**whole, "pointer": place.prefix + asked["pointer"]} if "pointer" in asked else whole


def beside(asked: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """The figure, what was published for it looked for in the item too."""
    given = asked.get("published")
    return {**asked, "published": relative(given, place)} if isinstance(given, Mapping) else asked


# ------------------------------------------------------------------------------------------------------------- compare

SHAPE = ("as", "decimals", "unit", "from", "sign")
CHOICE = ("task", "metric", "filter", "pointer")


class Compared:
    """Rows of tasks or pointers, a column for each run, and what a formula says of each run against the baseline."""

    def __init__(self, facts: Facts, asked: Mapping[str, Any], at: str, say: Say) -> None:
        self.facts, self.asked, self.at, self.say = facts, asked, at, say
        self.columns: list[Mapping[str, Any]] = list(asked["columns"])
        marked = [n for n, column in enumerate(self.columns) if column.get("baseline")]
        if len(marked) > 1:
            raise refused(facts.spec.where(f"{at}/columns/{marked[1]}"), "is a second baseline", "mark one column with `baseline: true`")
        self.baseline = marked[0] if marked else None
        self.versus: Mapping[str, Any] = {**VERSUS, **asked.get("versus", {})}

    def headers(self) -> list[tuple[Any, str]]:
        found: list[tuple[Any, str]] = [(self.asked.get("heading", str(self.say("benchmark"))), f"{self.at}/heading")]
        for number, column in enumerate(self.columns):
            pointer = f"{self.at}/columns/{number}/name"
            found.append((column["name"], pointer))
            if self.is_apart(number):
                found.append((self.versus_header(column["name"]), pointer))
        return found

    def versus_header(self, name: Any) -> Any:
        word = str(self.say(f"versus_{self.versus['compute']}"))
        if "heading" in self.versus:
            return self.versus["heading"]
        several = len(self.columns) > 2
        if isinstance(name, Mapping):
            return {key: f"{text}: {word}" if several else word for key, text in name.items()}
        return f"{name}: {word}" if several else word

    def is_versus(self, number: int) -> bool:
        return self.baseline is not None and number != self.baseline

    def is_apart(self, number: int) -> bool:
        return self.is_versus(number) and self.versus["place"] == "column"

    def rows(self) -> Iterator[Row]:
        found: list[list[Mapping[str, Any]]] = []
        for number, asked in enumerate(self.asked["rows"]):
            row = {"task": asked} if isinstance(asked, str) else asked
            pointer = f"{self.at}/rows/{number}"
            values = [self.value(column, row, pointer) for column in self.columns]
            found.append(values)
            label = row.get("label", row.get("task", row.get("pointer", "")))
            yield self.row(label if isinstance(label, str) else {"words": label}, values, pointer)
        if average := self.asked.get("average"):
            columns = [[row[n] for row in found] for n in range(len(self.columns))]
            values = [{"compute": "average", "of": column, **self.rounded(), **shape_of(column[0])} for column in columns]
            label = str(self.say("average")) if average is True else average
            yield self.row(label if isinstance(label, str) else {"words": label}, values, f"{self.at}/average")

    def row(self, label: Asked, values: list[Mapping[str, Any]], pointer: str) -> Row:
        cells: list[Asked] = [label]
        for number, value in enumerate(values):
            if not self.is_versus(number):
                cells.append(value)
                continue
            held = self.held(value, values[self.baseline or 0])
            cells += [value, held] if self.is_apart(number) else [[value, " (", held, ")"]]
        return Row([(cell, pointer) for cell in cells], pointer)

    def held(self, value: Mapping[str, Any], baseline: Mapping[str, Any]) -> Mapping[str, Any]:
        form = {key: self.versus[key] for key in ("as", "unit", "sign") if key in self.versus}
        return {"compute": self.versus["compute"], "of": [value, baseline], "decimals": self.versus["decimals"], **form, **self.rounded()}

    def rounded(self) -> Mapping[str, Any]:
        return {"rounded": True} if self.asked.get("rounded") else {}

    def value(self, column: Mapping[str, Any], row: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
        """The figure of a row in a column: its shape is the row's, else the table's."""
        choice = {key: row.get(key, self.asked.get(key)) for key in CHOICE if key in row or (key in self.asked and "pointer" not in row)}
        shape = {key: row.get(key, self.asked.get(key)) for key in SHAPE if key in row or key in self.asked}
        files = column["receipts"] if "receipts" in column else [column["receipt"]]
        return {"receipt": files[0] if len(files) == 1 else self.holder(files, choice, pointer), **choice, **shape}

    def holder(self, files: list[str], choice: Mapping[str, Any], pointer: str) -> str:
        """The one of several receipts that has the row's figure."""
        found = [file for file in files if self.has(file, choice)]
        if len(found) == 1:
            return found[0]
        said = choice.get("task", choice.get("pointer"))
        message = f"{'none' if not found else 'more than one'} of {', '.join(files)} has {said}"
        raise refused(self.facts.spec.where(pointer), message, "name the receipt that holds it")

    def has(self, file: str, choice: Mapping[str, Any]) -> bool:
        if "pointer" in choice:
            return resolve(self.facts.receipts.get(file), choice["pointer"]) is not MISSING
        return choice.get("task") in self.facts.tasks(file)


def shape_of(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: asked[key] for key in ("as", "decimals", "unit", "sign") if key in asked}
