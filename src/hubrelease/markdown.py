"""Text in Markdown: foreign text made harmless, one's own held to what it opens. The filters that a card's template has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from hubrelease.amounts import byte_text, rounded
from hubrelease.pieces import Pieces, figure_in, one, outside_marks
from hubrelease.verify_release import escape

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
CLOSED_BY_THE_NEXT = {"p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "option"}


def one_line(value: object) -> str:
    """On one line: blanks of every kind are one blank, control and invisible characters are visible escapes."""
    if isinstance(value, Pieces):
        return in_pieces(value, plain_line)
    return outside_marks(str(value), plain_line).strip()


def plain_line(text: str) -> str:
    return escape(re.sub(r"\s+", " ", text))


def escape_markdown(value: object) -> str:
    """Foreign text inside a table or a sentence: one line, no markup, no HTML, no template syntax."""
    if isinstance(value, Pieces):
        return in_pieces(value, escaped_line)
    return outside_marks(str(value), escaped_line).strip()


def escaped_line(text: str) -> str:
    line = plain_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|{}#!~])", r"\\\1", line)


BEGINS = re.compile(r"(\d{0,9})((?<=\d)[.)](?=\s|$)|(?<!\d)[-+](?=\s|$)|(?<!\d)(?:-+|=+)$)")


def escape_paragraph(text: str) -> str:
    """Foreign text that can stand at the beginning of a line of a text: there it begins no list and no rule, and makes no heading."""
    line = str(escape_markdown(text))
    found = BEGINS.match(line)
    return f"{line[: found.start(2)]}\\{line[found.start(2) :]}" if found else line


def in_pieces(value: Pieces, change: Callable[[str], str]) -> Pieces:
    """`change` of each part, without blanks at either end of the whole."""
    segments = list(value.each(change).segments)
    if segments:
        segments[0] = (segments[0][0].lstrip(), segments[0][1])
        segments[-1] = (segments[-1][0].rstrip(), segments[-1][1])
    return Pieces(segments)


def code(value: object) -> str:
    """Foreign text as a code span, between more backticks than it holds itself."""
    line = one_line(value)
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    pad = " " if "`" in (line[:1], line[-1:]) else ""
    inner = line.segments if isinstance(line, Pieces) else ((line, None),)
    return Pieces([(ticks + pad, None), *inner, (pad + ticks, None)])


def byte_size(number: int) -> str:
    return of_figure(number, byte_text(Fraction(number)))


def thousands(number: int) -> str:
    return of_figure(number, f"{number:,}")


def percent(number: float, decimals: int = 1) -> str:
    """A fraction as a percentage, rounded half to even."""
    return of_figure(number, rounded(Fraction(str(number)) * 100, decimals) + "%")


def fixed(number: float, decimals: int) -> str:
    """A number to so many decimals, rounded half to even."""
    return of_figure(number, rounded(Fraction(str(number)), decimals))


def of_figure(number: object, text: str) -> str:
    figure = figure_in(number)
    return text if figure is None else one(replace(figure, shown=text))


FILTERS = {"md": escape_markdown, "line": one_line, "code": code, "bytes": byte_size, "thousands": thousands, "percent": percent,
           "fixed": fixed}  # fmt: skip


# --------------------------------------------------------------------------------------------------- what a text opens


def left_open(text: str) -> str | None:
    """What a Markdown text opens and does not close, in words; None if nothing."""
    prose, fence = outside_of_fences(text)
    if fence:
        return f"a code block ({fence})"
    prose = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", prose, flags=re.S)
    prose = re.sub(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<![A-Za-z][^>]*>", "", prose, flags=re.S)
    if start := re.search(r"<!--|<\?|<!\[CDATA\[|<![A-Za-z]", prose):
        return f"a comment ({start[0]})"
    return next(iter(open_elements(prose)), None)


def outside_of_fences(text: str) -> tuple[str, str | None]:
    """The lines outside of fenced code blocks, and the fence that is not closed (CommonMark 4.5)."""
    fence, prose = None, []
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence is None and mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        elif fence and mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = None
        elif fence is None:
            prose.append(line)
    return "\n".join(prose), fence


def open_elements(prose: str) -> list[str]:
    """HTML elements without an end tag, which a browser closes at the end of the page only."""
    depth: dict[str, int] = {}
    for slash, name in re.findall(r"<(/?)([A-Za-z][A-Za-z0-9-]*)(?=[\s/>])[^>]*>", prose):
        key = name.lower()
        if key not in VOID | CLOSED_BY_THE_NEXT:
            depth[key] = max(0, depth.get(key, 0) - 1) if slash else depth.get(key, 0) + 1
    return [f"the element <{key}>" for key, count in depth.items() if count]
