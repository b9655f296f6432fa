"""A card (README.md) as checks see it: metadata, headings, prose and tables, each with its line. Code and comments are left out.

Tables are those of GitHub Flavored Markdown and plain ones in HTML. What is not understood is left out rather than
guessed: checks may say nothing of it, but never something wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from typing import TYPE_CHECKING

from hubrelease import front_matter, html_tables
from hubrelease.front_matter import Fault, FrontMatter
from hubrelease.verify_release import lfs_pointer

if TYPE_CHECKING:
    from hubrelease.release import Release

FILE = "README.md"
FENCE = re.compile(r" {0,3}(?:>\s*)*(`{3,}|~{3,})(.*)")
HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
RULE = re.compile(r":?-+:?")
MARKUP = (  # each alternative stops where it could begin anew: hostile lines must not take quadratic time
    (re.compile(r"<!--(?:(?!<!--).)*?-->|</?[a-zA-Z][^<>]*>"), " "),
    (re.compile(r"!\[[^\[\]]*\]\([^()\s]*\)"), " "),
    (re.compile(r"\[([^\[\]]*)\]\([^()]*\)"), r"\1"),
    (re.compile(r"\[\^[\w-]{1,40}\]"), ""),
    (re.compile(r"(?<!\\)(?:\*{1,3}|`+|~~)"), ""),
    (re.compile(r"(?<![\w\\])_{1,3}|(?<!\\)_{1,3}(?!\w)"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
MARKS = re.compile(r"[<!\[*`~_\\&]")
MAX_BODY_BYTES = 2 * 2**20  # of a longer card the rest is not looked at
MAX_COLUMNS = 200
MAX_HTML_LINES = 3000
MAX_PAGES, MAX_PAGE_BYTES = 20, 2**18


@dataclass(frozen=True, slots=True)
class Row:
    """Cells as plain text, without markup."""

    cells: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """`headings` are those above it, outermost first; `lead` is the paragraph before it in its section."""

    headers: tuple[str, ...]
    rows: tuple[Row, ...]
    line: int
    headings: tuple[str, ...]
    lead: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of prose as plain text, under its innermost heading."""

    number: int
    text: str
    heading: str


@dataclass
class Body:
    """What was found below the metadata."""

    prose: list[Line] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)  # level, text


@dataclass(frozen=True)
class Card:
    """`fault` is set where the bytes are no text. A git-lfs pointer in place of the card has no metadata and no body."""

    front: FrontMatter
    prose: tuple[Line, ...] = ()
    tables: tuple[Table, ...] = ()
    title: str = ""
    is_pointer: bool = False

    @cached_property
    def text(self) -> str:
        """All prose and cells as one text."""
        cells = (" | ".join(row.cells) for table in self.tables for row in table.rows)
        return "\n".join([*(line.text for line in self.prose), *cells])


def pages(release: Release) -> dict[str, Card]:
    """The card and the other Markdown files of a release; not those that are larger, or more, than anybody reads."""
    others = sorted(path for path in release.files - {FILE} - release.partial if path.endswith((".md", ".markdown")))
    found = {FILE: release.card} if release.card else {}
    for path in others[:MAX_PAGES]:
        data = release.read(path, MAX_PAGE_BYTES)
        if data is not None:
            found[path] = read(data)
    return found


def read(data: bytes) -> Card:
    """The card of the bytes of README.md."""
    if lfs_pointer(data):
        return Card(FrontMatter(None), is_pointer=True)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return Card(FrontMatter(None, (Fault(line, f"byte {error.start} is not UTF-8"),)))
    front = front_matter.read(text, FILE)
    body = read_body(front.body[:MAX_BODY_BYTES], front.body_line)
    title = next((text for level, text in body.headings if level == 1), "")
    return Card(front, tuple(body.prose), tuple(body.tables), title)


def read_body(text: str, first_line: int) -> Body:
    rows = list(visible(text.split("\n"), first_line))
    body, lead = Body(), ""
    path: dict[int, str] = {}
    position = 0
    while position < len(rows):
        number, row = rows[position]
        below = rows[position + 1][1] if position + 1 < len(rows) and rows[position + 1][0] == number + 1 else ""
        if "<table" in row:
            length = html_length(rows, position)
            body.tables += read_html(rows[position : position + length], tuple(path[level] for level in sorted(path)), lead)
            position, lead = position + length, ""
            continue
        if is_table(row, below):
            length = table_length(rows, position)
            headings = tuple(path[level] for level in sorted(path))
            body.tables.append(read_table(rows[position : position + length], headings, lead))
            position, lead = position + length, ""
            continue
        if found := heading_of(row, below):
            level, title = found
            position += not HEADING.match(row)  # the line under it belongs to it
            path = {upper: name for upper, name in path.items() if upper < level} | {level: title}
            body.headings.append((level, title))
            lead = ""
        elif row.strip():
            text_of_row = plain(row)
            lead = f"{lead} {text_of_row}"[-400:]
            body.prose.append(Line(number, text_of_row, path[max(path)] if path else ""))
        position += 1
    return body


def visible(rows: list[str], first_line: int) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines outside of fenced code, with HTML comments taken out."""
    fence, in_comment = "", False
    for number, row in enumerate(rows, first_line):
        found = FENCE.match(row)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not in_comment and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        else:
            left, in_comment = without_comments(row, in_comment)
            if left is not None:
                yield number, left


def without_comments(row: str, in_comment: bool) -> tuple[str | None, bool]:
    """(the line without comments, None if it lies inside of one; whether one is open at its end)."""
    if in_comment:
        _, end, row = row.partition("-->")
        if not end:
            return None, True
    before, start, after = row.rpartition("<!--")
    return (before, True) if start and "-->" not in after else (row, False)


def heading_of(row: str, below: str) -> tuple[int, str] | None:
    if found := HEADING.match(row):
        title = row[found.end() :].strip()
        bare = title.rstrip("#")
        return len(found[1]), plain(bare.rstrip() if bare != title and bare.endswith((" ", "\t")) else title)
    if row.strip() and "|" not in row and (line := UNDERLINE.fullmatch(below)) and len(line[1]) > 2:
        return (1 if line[1][0] == "=" else 2), plain(row)
    return None


# -------------------------------------------------------------------------------------------------------------- tables


def is_table(row: str, below: str) -> bool:
    if "|" not in row or "|" not in below or "-" not in below:
        return False
    rule = cells_of(below)
    return all(RULE.fullmatch(cell.strip()) for cell in rule) and len(cells_of(row)) == len(rule)


def table_length(rows: list[tuple[int, str]], start: int) -> int:
    """Lines of the table that begins at `start`: until a line without a bar or a gap."""
    end = start + 2
    while end < len(rows) and rows[end][0] == rows[end - 1][0] + 1 and "|" in rows[end][1]:
        end += 1
    return end - start


def html_length(rows: list[tuple[int, str]], start: int) -> int:
    """Lines of the HTML table that begins at `start`, its end included."""
    end = next((i for i in range(start, min(len(rows), start + MAX_HTML_LINES)) if "</table" in rows[i][1]), start)
    return end - start + 1


def read_html(rows: list[tuple[int, str]], headings: tuple[str, ...], lead: str) -> list[Table]:
    first = rows[0][0]
    gaps = [
        row
        for before, (number, row) in zip([first - 1, *(n for n, _ in rows)], rows, strict=False)
        for row in [*[""] * (number - before - 1), row]
    ]
    found = html_tables.read("\n".join(gaps), first)
    if len(found) < 2:
        return []
    (_, head), *body = found
    return [Table(head, tuple(Row(cells, line) for line, cells in body), first, headings, lead.strip())]


def read_table(rows: list[tuple[int, str]], headings: tuple[str, ...], lead: str) -> Table:
    headers = tuple(plain(cell) for cell in cells_of(rows[0][1]))
    found = []
    for number, row in rows[2:]:
        cells = [plain(cell) for cell in cells_of(row)][: len(headers)]
        found.append(Row((*cells, *[""] * (len(headers) - len(cells))), number))
    return Table(headers, tuple(found), rows[0][0], headings, lead.strip())


def cells_of(row: str) -> list[str]:
    """The cells of a line: bars divide them, `\\|` is a bar inside one (GFM 4.10)."""
    text = row.strip()
    text = text[1:] if text.startswith("|") else text
    cells = re.split(r"(?<!\\)\|", text, maxsplit=MAX_COLUMNS)
    if cells and not cells[-1].strip() and text.endswith("|"):
        cells.pop()
    return cells


def plain(text: str) -> str:
    """Markdown without its markup, on one line."""
    if MARKS.search(text):
        for form, instead in MARKUP:
            text = form.sub(instead, text)
        text = unescape(text)
    return " ".join(text.split())
