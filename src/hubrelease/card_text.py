"""A card (README.md) as checks see it: metadata, headings, prose and tables, each with its line. Code and comments are left out.

Only pipe tables (GitHub Flavored Markdown) are read; a table written in HTML is prose without figures. What is not
understood is left out rather than guessed: checks may say nothing of it, but never something wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

from hubrelease import front_matter
from hubrelease.front_matter import Fault, FrontMatter
from hubrelease.verify_release import lfs_pointer

FILE = "README.md"
FENCE = re.compile(r" {0,3}(?:>\s*)*(`{3,}|~{3,})(.*)")
HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
MARKUP = (
    (re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>"), " "),
    (re.compile(r"!\[[^\]]*\]\([^()\s]*\)"), " "),
    (re.compile(r"\[([^\[\]]*)\]\([^()]*\)"), r"\1"),
    (re.compile(r"\[\^[\w-]+\]"), ""),
    (re.compile(r"(?<!\\)(?:\*{1,3}|`+|~~)"), ""),
    (re.compile(r"(?<![\w\\])_+|(?<!\\)_+(?!\w)"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
MAX_COLUMNS = 200


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

    @property
    def text(self) -> str:
        """All prose and cells as one text."""
        cells = (" | ".join(row.cells) for table in self.tables for row in table.rows)
        return "\n".join([*(line.text for line in self.prose), *cells])


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
    body = read_body(front.body, front.body_line)
    title = next((text for level, text in body.headings if level == 1), "")
    return Card(front, tuple(body.prose), tuple(body.tables), title)


def read_body(text: str, first_line: int) -> Body:
    rows = list(visible(text.split("\n"), first_line))
    body, path, lead = Body(), {}, ""
    position = 0
    while position < len(rows):
        number, row = rows[position]
        below = rows[position + 1][1] if position + 1 < len(rows) and rows[position + 1][0] == number + 1 else ""
        if is_table(row, below):
            length = table_length(rows, position)
            headings = tuple(path[level] for level in sorted(path))
            body.tables.append(read_table(rows[position : position + length], headings, lead))
            position += length
            continue
        if found := heading_of(row, below):
            level, title = found
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
            continue
        if in_comment:
            _, end, row = row.partition("-->")
            if not end:
                continue
            in_comment = False
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            continue
        before, start, after = row.rpartition("<!--")
        if start and "-->" not in after:
            in_comment, row = True, before
        yield number, row


def heading_of(row: str, below: str) -> tuple[int, str] | None:
    if (found := HEADING.fullmatch(row)) is not None:
        return len(found[1]), plain(found[2] or "")
    if row.strip() and "|" not in row and (line := UNDERLINE.fullmatch(below)) and len(line[1]) > 2:
        return (1 if line[1][0] == "=" else 2), plain(row)
    return None


# -------------------------------------------------------------------------------------------------------------- tables


def is_table(row: str, below: str) -> bool:
    return "|" in row and "-" in below and "|" in below and RULE.fullmatch(below) is not None and len(cells_of(row)) == len(cells_of(below))


def table_length(rows: list[tuple[int, str]], start: int) -> int:
    """Lines of the table that begins at `start`: until a line without a bar or a gap."""
    end = start + 2
    while end < len(rows) and rows[end][0] == rows[end - 1][0] + 1 and "|" in rows[end][1]:
        end += 1
    return end - start


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
    for form, instead in MARKUP:
        text = form.sub(instead, text)
    return re.sub(r"\s+", " ", unescape(text)).strip()
