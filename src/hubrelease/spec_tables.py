"""Tables that release.yaml asks for, in the card that is there: each cell with the text that its figures give.

The embedded spec says of every cell where it comes from, so nothing has to be guessed: figures are found and computed anew,
from the release's own receipts and files. A table that the card does not have, or has under another heading or with other
columns, is left alone. An embedded spec is a document like any other, and can be hostile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hubrelease.card_text import Table
from hubrelease.claim_words import whole_key
from hubrelease.errors import ReleaseError
from hubrelease.facts import Facts, Figure
from hubrelease.lock import Lock
from hubrelease.spec import Receipt, Spec, Weights
from hubrelease.strict_yaml import Scalar
from hubrelease.verify_release import PROVENANCE

if TYPE_CHECKING:
    from hubrelease.card_words import Words
    from hubrelease.payload import Payload
    from hubrelease.release import Release
    from hubrelease.tables import Laid

FORMS = ("number", "percent", "fraction", "bytes", "duration", "text")
MAX_PARTS = 200_000  # of a table, and of card.figures
FAULTS = (ReleaseError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


class Expected(NamedTuple):
    """A cell: what the card shows, what it should show, and where that stands: a pointer, or a formula.

    `published`: it shows what was published in place of what the data gives, which is another check's finding.
    """

    line: int
    header: str
    shown: str
    wanted: str
    file: str
    pointer: str
    published: bool


def expected_cells(release: Release) -> Iterator[Expected]:
    """The cells of the card that the spec traces to figures."""
    card = release.spec.get("card")
    if release.card is None or not isinstance(card, dict) or not is_sane(card.get("figures")):
        return
    tables = card.get("tables")
    if not isinstance(tables, list):
        return
    yield from in_languages(release, [(f"/card/tables/{n}", table) for n, table in enumerate(tables) if is_sane(table)])


def in_languages(release: Release, tables: list[tuple[str, Any]]) -> Iterator[Expected]:
    from hubrelease.card_words import Words
    from hubrelease.cards import readme_locales

    facts = facts_of(release)
    try:
        locales = readme_locales(facts.spec)
        languages = [Words(facts, locale, []) for locale in locales]
    except FAULTS:
        return
    for at, asked in tables:
        for number, words in enumerate(languages):
            try:
                yield from list(of_table(release, asked, at, words, (number, len(languages))))
            except FAULTS:
                continue  # a figure-fault at the build; here there is nothing to hold the table against


def of_table(release: Release, asked: Mapping[str, Any], at: str, words: Words, language: tuple[int, int]) -> Iterator[Expected]:
    from hubrelease import tables

    for table in tables.laid(words, asked, at):
        yield from of_one(release, table, words, language)


def of_one(release: Release, table: Laid, words: Words, language: tuple[int, int]) -> Iterator[Expected]:
    columns = [str(words.text(header, "")) for header, _ in table.headers]
    found = table_for(release, str(words.text(table.title, "")), columns, *language)
    if found is None or len(table.rows) != len(found.rows):
        return
    for row, there in zip(table.rows, found.rows, strict=True):
        if len(row.cells) == len(there.cells):
            for (cell, pointer), header, shown in zip(row.cells, found.headers, there.cells, strict=True):
                if wanted := text_of(words, cell, pointer):
                    yield Expected(there.line, header, shown, *wanted)


def table_for(release: Release, title: str, columns: list[str], number: int, languages: int) -> Table | None:
    """The card's table under the title, with the columns; of as many as there are languages that of this one; else None."""
    assert release.card is not None
    wanted = [whole_key(column) for column in columns]
    under = [t for t in release.card.tables if t.headings and whole_key(t.headings[-1]) == whole_key(title)]
    found = [t for t in under if [whole_key(header) for header in t.headers] == wanted]
    if len(found) == 1:
        return found[0]
    return found[number] if len(found) == languages else None


def text_of(words: Words, asked: Any, at: str) -> tuple[str, str, str, bool] | None:
    """(text, file, pointer or formula, whether it is a published one) of a cell with figures.

    None for words, stated values, and where one can't be found.
    """
    from hubrelease.card_words import figures_of

    words.problems.clear()
    shown = words.cell(asked, at, True)
    figures = figures_of(shown)
    if words.problems or not figures or all(figure.stated for figure in figures):
        return None
    file, pointer = place_of(figures[0])
    return str(shown), file, pointer, any(figure.published is not None for figure in figures)


def place_of(figure: Figure) -> tuple[str, str]:
    leaf = figure.leaves()[0]
    return leaf.file, figure.formula or leaf.pointer


# ------------------------------------------------------------------------------------------------- facts of a release


def facts_of(release: Release) -> Facts:
    """What the embedded spec's figures are found in. Nothing of the spec is trusted but the form of what is asked for."""
    spec = Spec(release.root / PROVENANCE, release.spec, Scalar("", False, PROVENANCE, 1), (), Weights("", "as-is"), None, None, (), None,
                tuple(receipts_in(release.spec)), ())  # fmt: skip
    return Facts(spec, Lock(), Receipts(release), payload_of(release))


def receipts_in(document: Mapping[str, Any]) -> Iterator[Receipt]:
    rows = document.get("benchmarks")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("receipt"), str):
            to, of, kind = row.get("as", f"benchmarks/{row['receipt'].rsplit('/', 1)[-1]}"), row.get("of"), row.get("kind")
            yield Receipt(row["receipt"], str(to), of if isinstance(of, str) else None, None, kind if isinstance(kind, str) else None)


class Receipts(Mapping[str, Any]):
    """The files of a release as receipts, read when they are asked for."""

    def __init__(self, release: Release) -> None:
        self.release, self.read = release, dict[str, Any]()

    def __getitem__(self, path: str) -> Any:
        from hubrelease.evaluations import receipt_value

        if path not in self:
            raise KeyError(path)
        if path not in self.read:
            self.read[path] = receipt_value(self.release, path)
        return self.read[path]

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path in self.release.files

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.release.files))

    def __len__(self) -> int:
        return len(self.release.files)


def payload_of(release: Release) -> Payload | None:
    """None where the release is not here as a whole, or no cell asks for it."""
    from hubrelease.manifest import Entry
    from hubrelease.payload import measure
    from hubrelease.weights import ContainerFault

    if release.missing or release.partial or not has_key(release.spec.get("card"), "payload"):
        return None
    try:
        return measure(release.root, [Entry(s.name, s.sha256, s.size, s.role) for s in release.result.provenance.subjects])
    except (OSError, ContainerFault):
        return None


def has_key(value: Any, key: str) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if key in item:
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def is_sane(value: Any) -> bool:
    """False for what would be computed to a million digits, or for ever."""
    stack, count = [value], 0
    while stack:
        item, count = stack.pop(), count + 1
        if isinstance(item, dict):
            decimals, form = item.get("decimals", 0), item.get("as", "number")
            if type(decimals) is not int or not 0 <= decimals <= 12 or form not in FORMS:
                return False
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        if count > MAX_PARTS:
            return False
    return True
