"""Tables that a card writes in HTML, as rows of plain cells: spans are filled, nesting and anything unusual is given up.

Red Hat's and many other quantised releases show their benchmarks so. Only the standard library's parser reads the markup.
"""

from __future__ import annotations

from html.parser import HTMLParser

MAX_SPAN, MAX_CELLS = 60, 20_000


class HtmlTable(HTMLParser):
    """One table. `rows` are (line, cells), the first being the headings; `is_odd` says that it is none that we read."""

    def __init__(self, first_line: int) -> None:
        super().__init__(convert_charrefs=True)
        self.first_line, self.is_odd = first_line, False
        self.rows: list[tuple[int, list[str]]] = []
        self.row: list[str] | None = None
        self.cell: list[str] | None = None
        self.span = (1, 1)
        self.above: dict[int, tuple[int, str]] = {}  # column → rows that a cell from above still fills, its text
        self.depth = self.count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.depth += 1
            self.is_odd |= self.depth > 1
        elif tag == "tr":
            self.end_row()
            self.row = []
            self.rows.append((self.first_line + self.getpos()[0] - 1, self.row))
        elif tag in ("td", "th"):
            self.end_cell()
            found = dict(attrs)
            self.span = span_of(found.get("colspan")), span_of(found.get("rowspan"))
            self.cell = []
        elif tag == "br" and self.cell is not None:
            self.cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.end_cell()
        elif tag in ("tr", "table"):
            self.end_row()

    def handle_data(self, data: str) -> None:
        if self.cell is not None:
            self.cell.append(data)

    def end_cell(self) -> None:
        if self.cell is None or self.row is None:
            return
        text = " ".join("".join(self.cell).split())
        self.cell = None
        for _ in range(self.span[0]):
            self.fill_from_above()
            if self.span[1] > 1:
                self.above[len(self.row)] = (self.span[1] - 1, text)
            self.add(text)

    def end_row(self) -> None:
        self.end_cell()
        if self.row is not None:
            self.fill_from_above()
        self.row = None

    def fill_from_above(self) -> None:
        while self.row is not None and not self.is_odd and (held := self.above.get(len(self.row))):
            left, text = held
            self.above[len(self.row)] = (left - 1, text)
            if left == 1:
                del self.above[len(self.row)]
            self.add(text)

    def add(self, text: str) -> None:
        self.count += 1
        self.is_odd |= self.count > MAX_CELLS
        if self.row is not None and not self.is_odd:
            self.row.append(text)


def span_of(text: str | None) -> int:
    return min(int(text), MAX_SPAN) if text and text.isdecimal() and len(text) < 4 and int(text) else 1


def read(text: str, first_line: int) -> list[tuple[int, tuple[str, ...]]]:
    """(line, cells) of the rows of one table, headings first; [] where it is none that can be read."""
    parser = HtmlTable(first_line)
    parser.feed(text)
    parser.end_row()
    rows = [(line, tuple(cells)) for line, cells in parser.rows if cells]
    width = len(rows[0][1]) if rows else 0
    is_plain = not parser.is_odd and all(len(cells) == width or len(set(cells)) == 1 for _, cells in rows)
    return [(line, cells if len(cells) == width else (*cells, *[""] * width)[:width]) for line, cells in rows] if is_plain else []
