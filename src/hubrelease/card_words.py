"""Texts of release.yaml as the card has them: in one language, with the figures that they name put in: `{=name}`.

What the publisher types next to a unit is no figure: it has no source, and is a problem with its line (typed_figures.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hubrelease.errors import Problem, ReleaseError, problem
from hubrelease.facts import Facts, Figure
from hubrelease.markdown import escape_markdown, escape_paragraph
from hubrelease.phrases import Say, local
from hubrelease.pieces import Pieces, Segment, one
from hubrelease.published import MARK

NAMED = re.compile(r"\{=([a-z][a-z0-9_.-]*)\}")
UNITS = r"%|pp|points?|ms|s|x|×|W|FPS|[kMGT]?i?B(/s)?|tok(ens)?/s"
TYPED = re.compile(rf"[-+−±~≈<>≤≥]?\s*[0-9][0-9,_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*({UNITS})?")


class Words:
    """Makes texts and figures of one language of a card; what is wrong with them is added to `problems`."""

    def __init__(self, facts: Facts, locale: str, problems: list[Problem]) -> None:
        self.facts, self.locale, self.problems = facts, locale, problems
        self.say = Say(locale)

    def text(self, value: Any, pointer: str, *, prose: bool = False, in_cell: bool = False) -> Pieces:
        """A text with its figures. In prose, text that a figure brings is escaped; elsewhere the template does so.

        Pieces are such a text already: what a receipt says is never looked through for names of figures.
        """
        if isinstance(value, Pieces):
            return value
        try:
            return Pieces(self.segments(local(value, self.locale, self.facts.spec, pointer), pointer, prose, in_cell))
        except ReleaseError as error:
            self.problems += error.problems
            return Pieces(())

    def segments(self, text: str, pointer: str, prose: bool, in_cell: bool) -> Iterator[Segment]:
        at = 0
        for found in NAMED.finditer(text):
            yield text[at : found.start()], None
            yield from self.figure({"figure": found[1]}, pointer, prose, in_cell)
            at = found.end()
        yield text[at:], None

    def figure(self, asked: Mapping[str, Any], pointer: str, prose: bool = False, in_cell: bool = False) -> tuple[Segment, ...]:
        """A figure, and the mark that says it is stated; one that was published as another value as such."""
        try:
            figure = self.facts.figure(asked, self.facts.spec.where(pointer))
        except ReleaseError as error:
            self.problems += error.problems
            return ()
        if figure.published is not None:
            return self.published(figure, prose, in_cell)
        text = escape_paragraph(figure.shown) if prose and isinstance(figure.value, str) else figure.shown
        mark: tuple[Segment, ...] = ((f" {self.say('stated')}", None),) if figure.stated else ()
        return ((text, figure), *mark)

    def published(self, figure: Figure, prose: bool, in_cell: bool) -> tuple[Segment, ...]:
        """As it was published: in a cell with a mark, which the table explains, elsewhere with what the data gives."""
        assert figure.published is not None
        text, given = (escape_markdown(text) if prose else text for text in (figure.published.shown, figure.shown))
        if in_cell:
            return ((text, figure), (MARK, None))
        beside = self.say("published_beside", computed=one(replace(figure, published=None), given))
        return ((text, figure), (" ", None), *beside.segments)

    def cell(self, asked: Any, pointer: str, is_label: bool) -> Pieces:
        """A cell: words, a figure, or a list of both."""
        parts = asked if isinstance(asked, list) else [asked]
        found: list[Segment] = []
        for number, part in enumerate(parts):
            at = f"{pointer}/{number}" if isinstance(asked, list) else pointer
            if isinstance(part, Mapping) and "words" not in part:
                found += self.figure(part, at, in_cell=True)
            else:
                words = self.text(part["words"] if isinstance(part, Mapping) else part, at, in_cell=True)
                if not is_label:
                    self.refuse_typed(words, at)
                found += words.segments
        return Pieces(found)

    def refuse_typed(self, words: Pieces, pointer: str) -> None:
        """A cell that is a number and nothing else. In the first column it is a label."""
        typed = "".join(text for text, figure in words.segments if figure is None)
        if TYPED.fullmatch(typed.strip()):
            mend = "name its receipt, or state it: {spec: true, pointer: …}"
            message = f'"{typed}" is a figure typed by hand, without a source'
            self.problems.append(problem("figure-fault", self.facts.spec.where(pointer), message, mend))


def figures_of(text: Pieces) -> tuple[Figure, ...]:
    return tuple(figure for _, figure in text.segments if figure is not None)
