"""Figures in the card's text, marked so that Markdown carries the marks through to the HTML.

A mark is one character of Unicode's last two private planes: no Markdown, no HTML, no text. A card that holds such characters
itself shows U+FFFD instead, so it can't pass something off as a traced figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hubrelease.pieces import Placed

FIRST, END = 0xF0000, "\U00100000"
MOST = 0xFFFD  # figures that one card can mark
PRIVATE = re.compile("[\U000f0000-\U0010ffff]")
ENCODED = re.compile(r"%F3%B[0-9A-F]%[89AB][0-9A-F]%[89AB][0-9A-F]|%F4%80%80%80")
ORDERED = re.compile(r"[ \t>]*")


def marked(text: str, figures: Sequence[Placed], first_line: int) -> str:
    """`text`, whose first line is `first_line` of the card, with a mark round each figure that stands where it should."""
    lines = PRIVATE.sub("\ufffd", text).split("\n")
    for number, figure in sorted(enumerate(figures[:MOST]), key=lambda row: (row[1].line, -row[1].column)):
        at, start = figure.line - first_line, figure.column - 1
        if 0 <= at < len(lines) and figure.text and lines[at].startswith(figure.text, start) and not opens_list(lines[at], start, figure):
            end = start + len(figure.text)
            lines[at] = lines[at][:start] + chr(FIRST + number) + lines[at][start:end] + END + lines[at][end:]
    return "\n".join(lines)


def opens_list(line: str, start: int, figure: Placed) -> bool:
    """True where a mark would keep Markdown from seeing a list: `12. Twelve`."""
    return ORDERED.fullmatch(line[:start]) is not None and line[start + len(figure.text) :][:2] in (". ", ") ")


def number_of(character: str) -> int | None:
    """Which figure a mark begins."""
    number = ord(character) - FIRST
    return number if 0 <= number < MOST else None


def unmarked(text: str) -> str:
    """`text` without marks, those included that an address carries percent-encoded."""
    return ENCODED.sub("", PRIVATE.sub("", text))


def any_marked(text: str) -> bool:
    return PRIVATE.search(text) is not None


def pieces(text: str) -> Iterable[tuple[int | None, str]]:
    """(figure, text) in order; None for text that is no figure. A mark without its end in the same text marks nothing."""
    place = 0
    for found in re.finditer(r"([\U000f0000-\U000ffffc])([^\U000f0000-\U0010ffff]*)" + END, text):
        yield None, unmarked(text[place : found.start()])
        yield number_of(found[1]), found[2]
        place = found.end()
    yield None, unmarked(text[place:])
