"""Texts that are written by hand in README.md and survive when the card is rendered again: marked blocks.

    <!-- hubrelease:text usage -->
    Anything that closes what it opens.
    <!-- /hubrelease:text -->

A block stands where the template places the text of that name. Where release.yaml gives the same text, release.yaml wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hubrelease.errors import CheckFailed, Problem, Where, problem
from hubrelease.strict_yaml import UNFIT

BEGIN = re.compile(r"<!-- hubrelease:text ([a-z][a-z0-9_]*(?:\.[A-Za-z-]+)?) -->")
ANY = re.compile(r"<!--\s*/?\s*hubrelease:")
END = "<!-- /hubrelease:text -->"
BLOCK = re.compile(rf"(<!-- hubrelease:text [^\n]*? -->\n.*?{re.escape(END)})", re.S)
MEND = "write `<!-- hubrelease:text NAME -->` and `<!-- /hubrelease:text -->` on lines of their own"
PLAIN = "take it out, and save the file as UTF-8"


@dataclass(frozen=True)
class Kept:
    """Texts by name, and the line on which each begins."""

    texts: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)


NONE_KEPT = Kept()


def read(data: bytes | None, file: str) -> Kept:
    """The marked blocks of a card that is there. CheckFailed (HR503) with each mark that is out of place."""
    if data is None or b"hubrelease:" not in data:
        return Kept()
    texts, lines, problems = dict[str, str](), dict[str, int](), list[Problem]()
    name, held = "", list[str]()
    rows = data.decode("utf-8", "surrogateescape").split("\n")
    metadata = metadata_lines(rows)
    for number, line in enumerate(rows[metadata:], metadata + 1):
        row = line.strip()
        opened = BEGIN.fullmatch(row)
        if name and row == END:
            texts[name] = "".join(f"{kept}\n" for kept in held)
            name = ""
        elif opened and not name and opened[1] not in lines:
            name, held = opened[1], []
            lines[name] = number + 1
        elif ANY.search(row):
            problems.append(problem("text-mark", Where(file, number), f'"{row[:80]}" is out of place, or no mark', MEND))
        elif name:
            held.append(line.removesuffix("\r"))
            if unfit := UNFIT.search(held[-1]):
                problems.append(problem("text-mark", Where(file, number), unfit_message(unfit[0]), PLAIN))
    if name:
        problems.append(problem("text-mark", Where(file, lines[name] - 1), f'the text "{name}" is not closed', MEND))
    if problems:
        raise CheckFailed(problems)
    return Kept(texts, lines)


def metadata_lines(rows: list[str]) -> int:
    """How many lines the card's metadata has, its fences included: what looks like a mark there is a receipt's text."""
    if rows[0].strip() != "---":
        return 0
    return next((number for number, row in enumerate(rows[1:], 2) if row.strip() == "---"), 0)


def unfit_message(found: str) -> str:
    """What a text can't hold: a card can be shown in any terminal, and bytes that are no text would be lost."""
    if "\udc80" <= found <= "\udcff":
        return f"the marked block holds the byte 0x{ord(found) - 0xDC00:02x}, which is no UTF-8"
    return f"the marked block holds the control character U+{ord(found):04X}"


def together(first: Kept, second: Kept) -> Kept:
    return Kept({**first.texts, **second.texts}, {**first.lines, **second.lines})


def marked(name: str, text: str) -> str:
    return f"<!-- hubrelease:text {name} -->\n{text}{END}"


def apart(card: str) -> list[str]:
    """The card in parts: what lies outside of marked blocks at even places, the blocks at odd ones."""
    return BLOCK.split(card)
