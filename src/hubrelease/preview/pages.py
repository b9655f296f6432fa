"""What the page shows of a folder: the card as its data renders it, README.md as it lies there, each with its findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

from hubrelease import cards, cards_check, checker, front_matter
from hubrelease.card_command import Ready, ready
from hubrelease.card_text import FILE
from hubrelease.errors import OutsideError, Problem, ReleaseError, Where, problem
from hubrelease.facts import Figure
from hubrelease.front_matter import FrontMatter
from hubrelease.outside import cache_folder
from hubrelease.pieces import Placed
from hubrelease.preview import judging, metadata, shape
from hubrelease.preview.converter import Converter, TooSlow
from hubrelease.preview.folder import Files, renamed
from hubrelease.preview.marks import marked
from hubrelease.report import problem_json
from hubrelease.spec import FILE_NAME, Spec
from hubrelease.verify_release import PROVENANCE, printable

MAX_VALUE = 400  # characters of a value that are shown
RENDERED = "rendered"
MAX_CARD = 2 * 2**20  # bytes; card_text.py reads no more of a card either


@dataclass(frozen=True)
class Target:
    """RELEASE or DIR as it was named, and the folder to look at."""

    path: Path
    folder: Path


@dataclass(frozen=True)
class Card:
    """One view: a text, its figures and its findings. `name` is README.md for the file that is there, else what is rendered."""

    name: str
    text: str
    figures: Sequence[Placed] = ()
    problems: Sequence[Problem] = ()
    diff: Sequence[str] = ()
    spec: Spec | None = None


def find(path: Path) -> Target:
    """The folder that RELEASE or DIR names. OutsideError where it holds neither release.yaml nor README.md."""
    if path.is_file():
        return Target(path, path.parent)
    if not any(os.path.lexists(path / name) for name in (FILE_NAME, FILE, PROVENANCE)):
        message = f"has neither {FILE_NAME} nor {FILE}" if path.is_dir() else "is not there"
        raise OutsideError(problem("local-file-missing", str(path), message, "name a release, or a folder with a card"))
    return Target(path, path)


def look(target: Target, converter: Converter) -> tuple[Files, dict[str, dict[str, Any]]]:
    """The folder's files, and {name of a view: what the browser gets}; the first view is the one to show."""
    readme = Files(target.folder, {}).read(FILE, MAX_CARD)
    problems, names, views = list[Problem](), dict[str, str](), list[Card]()
    try:
        problems += checked(target)
        if found := ready_of(target):
            names = renamed(found.facts.spec)
            views += rendered(found, problems, readme)
    except ReleaseError as error:
        problems += error.problems
    if readme is not None and not (views and views[0].text.encode() == readme):
        views.append(Card(FILE, readme.decode("utf-8", "replace"), (), judging.of_folder(target.folder)))
    if not views or views[0].name == FILE:  # nothing could be rendered, and the problems say why
        there = views[0] if views else Card(FILE, "")
        views = [replace(there, problems=list(dict.fromkeys([*problems, *there.problems])))]
    files, every = Files(target.folder, names), [card.name for card in views]
    return files, {card.name: shown(card, every, files, converter) for card in views}


def checked(target: Target) -> list[Problem]:
    """What `hubrelease check` says of release.yaml."""
    has_spec = target.path.is_file() or os.path.lexists(target.path / FILE_NAME)
    return checker.check(target.path) if has_spec else []


def ready_of(target: Target) -> Ready | None:
    """What the card is rendered from; None for a folder with a README.md alone."""
    can_render = target.path.is_file() or any(os.path.lexists(target.path / name) for name in (FILE_NAME, PROVENANCE))
    return ready(target.path, cache_folder()) if can_render else None


def rendered(found: Ready, problems: Sequence[Problem], readme: bytes | None) -> Iterator[Card]:
    """The card as its data gives it, then each language that has a file of its own."""
    facts, folder = found.facts, found.folder
    for locale in (None, *cards.apart_locales(facts.spec)):
        made = cards.rendered(facts, found.report, locale)
        there = folder / (cards.path_of(locale) if locale else FILE)
        diff, differs = cards_check.compare(made.text, there) if there.exists() else ([], [])
        if locale:
            yield Card(locale, made.text, made.figures, differs, diff, facts.spec)
            continue
        is_release = (folder / PROVENANCE).is_file()
        claims = judging.of_folder(folder, made.text) if is_release else judging.of_spec(facts.spec, made.text)
        yield Card(RENDERED, made.text, made.figures, list(dict.fromkeys([*problems, *made.warnings, *claims, *differs])), diff, facts.spec)


def shown(card: Card, names: Sequence[str], files: Files, converter: Converter) -> dict[str, Any]:
    """One view as JSON."""
    text = printable(card.text)[:MAX_CARD]
    front = front_matter.read(text, FILE)
    html, left_out = page_of(front, card.figures, files, converter)
    return {
        "view": card.name,
        "views": list(names),
        "html": html,
        "metadata": metadata.metadata(front, card.figures),
        "lines": text.split("\n"),
        "findings": [finding(found, files) for found in card.problems],
        "figures": [figure(placed, files, card.spec) for placed in card.figures],
        "leftOut": left_out,
        "diff": list(card.diff),
    }


def page_of(front: FrontMatter, figures: Sequence[Placed], files: Files, converter: Converter) -> tuple[str, dict[str, int]]:
    """(HTML of the card's body, what was left out of it); the body as it stands where Markdown takes too long over it."""
    body = marked(front.body, figures, front.body_line)
    try:
        safe, left_out = converter.convert(body, front.body_line)
    except TooSlow:
        words = f"This text takes a parser more than {converter.seconds:.0f} seconds, or makes it fail, so it stands here as it is."
        safe, left_out = f"<p><strong>{words}</strong></p><pre>{escape(body)}</pre>", {}
    html, _ = shape.shape(safe, shape.Place(files.has_image, files.has_text, "file/"))
    return html, left_out


def finding(found: Problem, files: Files) -> dict[str, Any]:
    """A problem; `open` is the file to show at its line, where that is not the card itself."""
    return {**problem_json(found), "open": openable(found.where.file, files)}


def figure(placed: Placed, files: Files, spec: Spec | None = None) -> dict[str, Any]:
    """A figure: where it stands, and what it was found in, or computed from."""
    return {"text": placed.text, "line": placed.line, "column": placed.column, **origin(placed.figure, files, spec)}


def origin(found: Figure, files: Files, spec: Spec | None) -> dict[str, Any]:
    """`openLine` is that of release.yaml, or of a file that it includes; in JSON the page finds the pointer itself."""
    stated = spec.where(found.pointer) if found.source == "spec" and spec else Where(found.file)
    file = found.file if stated.file == PROVENANCE else stated.file  # a release without release.yaml
    return {
        "shown": found.shown,
        "value": value_text(found.value),
        "source": found.source,
        "file": file,
        "openLine": stated.line if file == stated.file else None,
        "pointer": found.pointer,
        "formula": found.formula,
        "stated": found.stated,
        "open": openable(file, files),
        "operands": [origin(operand, files, spec) for operand in found.operands],
        "published": origin(found.published, files, spec) if found.published else None,
    }


def value_text(value: object) -> str:
    """A value as it was found; one that was computed exactly, as the nearest number of 64 bits."""
    if not isinstance(value, Fraction):
        return str(value)[:MAX_VALUE]
    try:
        return repr(float(value))
    except OverflowError:
        return "too large for a number of 64 bits"


def openable(file: str, files: Files) -> str | None:
    """The path under which the browser can ask for a file that a finding or a figure names."""
    path = file.partition("#")[0]
    return path if path and path != FILE and files.has_text(path) else None


def first(views: Iterable[str]) -> str:
    return next(iter(views), "")
