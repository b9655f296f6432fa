"""Figures that were typed: a number next to a unit in a text or a template, which has no source. Each with its file and line.

Code is left out, for a command may say how long it waits; so are comments and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hubrelease.card_text import visible
from hubrelease.errors import Problem, Where, problem
from hubrelease.free_text import Kept
from hubrelease.spec import Spec

UNITS = (
    r"%|(?:pp|percent|ms|µs|us|ns|seconds?|minutes?|hours?|W|FPS|[kKMGT]i?B(?:/s)?|tok(?:ens?)?/s|req(?:uests?)?/s|tokens? per second)\b"
    r"|(?:times|s)\b(?<=\s.)|(?:times)\b(?<=\s.{5})|[x×](?![\w]|\s*\d)"
)
LITERAL = re.compile(rf"(?<![\w.,/=-])[-+−]?\d[\d,]*(?:\.\d+)?(?:\s|&nbsp;)?(?:{UNITS})")
NOT_PROSE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)|\]\([^()]*\)|https?://\S+|<!--.*?-->|<[a-zA-Z/][^<>]*>")
NAMED = re.compile(r"\{=[^{}]*\}")
MEND = "name its figure: {=name}, from card.figures; a claim without a receipt is stated there: {spec: true, pointer: /card/stated/…}"


def literals(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1, the figure as typed) of each in a Markdown text."""
    for number, line in visible(text.split("\n"), 1):
        for found in LITERAL.finditer(NAMED.sub("\ufffc", NOT_PROSE.sub("\ufffc", line))):
            yield number, found[0].strip()


def text_problems(spec: Spec, texts: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """(pointer, text) of release.yaml."""
    for pointer, text in texts:
        for _, typed in literals(text):
            yield typed_problem(place_of(spec, pointer, typed), typed)


def kept_problems(file: str, kept: Kept) -> Iterator[Problem]:
    """Texts of marked blocks."""
    for name, text in kept.texts.items():
        for line, typed in literals(text):
            yield typed_problem(Where(file, kept.lines[name] + line - 1), typed)


def template_problems(name: str, source: str) -> Iterator[Problem]:
    """What stands in a template beside its expressions, and texts inside of them."""
    for line, typed in literals(without_expressions(source)):
        yield typed_problem(Where(name, line), typed)


def without_expressions(source: str) -> str:
    """A template's own text, line for line; a fault of its syntax is told where it is compiled."""
    import jinja2

    rows: dict[int, str] = {}
    try:
        for line, kind, value in jinja2.Environment(autoescape=False).lex(source):  # noqa: S701  # nothing is rendered
            if kind in ("data", "string", "variable_begin"):
                text = {"string": value[1:-1], "variable_begin": "\ufffc"}.get(kind, value)
                for number, part in enumerate(text.split("\n"), line):
                    rows[number] = rows.get(number, "") + part
    except jinja2.TemplateSyntaxError:
        return ""
    return "\n".join(rows.get(number, "") for number in range(1, max(rows, default=0) + 1))


def typed_problem(where: Where, typed: str) -> Problem:
    return problem("figure-fault", where, f'"{typed}" is a figure typed by hand, without a source', MEND)


def place_of(spec: Spec, pointer: str, typed: str) -> Where:
    """The line of release.yaml on which a figure stands: YAML says only where the text begins."""
    where = spec.where(pointer)
    try:
        rows = (spec.folder / where.file).read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return where
    start = (where.line or 1) - 1
    found = next((n for n, row in enumerate(rows[start:], start + 1) if typed in row), where.line)
    return Where(where.file, found, pointer)
