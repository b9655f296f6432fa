"""A value in the card's metadata is blank, or not of the type that the Hub takes (tags, metrics, library_name, …).

Why it matters: the Hub validates the block on every push and refuses the commit, after the weights went up.
Mend: Write text where text belongs and a list of texts for tags and metrics; leave a key out rather than blank.
Source: huggingface/hub-docs modelcard.md; huggingface/transformers issue 13528; skops-dev/skops issue 393 ("widget" must be an array).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import FrontMatter, is_blank, kind_of
from hubrelease.release import Release
from hubrelease.strict_yaml import Node, Scalar, Sequence, pointer_to

TEXTS = ("library_name", "license_name", "license_link")
LISTS = ("tags", "metrics")


def run(release: Release) -> Iterator[Problem]:
    if release.card is None:
        return
    front = release.card.front
    for key in TEXTS:
        yield from text_problems(key, front)
    for key in LISTS:
        yield from list_problems(key, front)
    widget = front.get("widget")
    if isinstance(widget, Scalar) and not is_blank(widget):
        where = Where(FILE, front.line("widget"), "/widget")
        yield CHECK.problem(where, f"widget is a {kind_of(widget)}, not a list of inputs", "write a list with one input a line")


def text_problems(key: str, front: FrontMatter) -> Iterator[Problem]:
    node = front.get(key)
    if node is None:
        return
    where = Where(FILE, front.line(key), pointer_to(key))
    if is_blank(node):
        yield CHECK.problem(where, f"{key} has no value", "write one, or leave the key out")
    elif not isinstance(node, Scalar):
        yield CHECK.problem(where, f"{key} is a {kind_of(node)}, not text", "write one text")
    elif kind_of(node) != "string":
        yield CHECK.problem(where, f"{key} is the {kind_of(node)} {node.text[:40]}, not text", "put it in quotes")


def list_problems(key: str, front: FrontMatter) -> Iterator[Problem]:
    node = front.get(key)
    if node is None or (isinstance(node, Scalar) and not is_blank(node)):  # one text in place of a list is taken
        return
    if not isinstance(node, Sequence):
        said = "has no value" if is_blank(node) else f"is a {kind_of(node)}, not a list"
        yield CHECK.problem(Where(FILE, front.line(key), pointer_to(key)), f"{key} {said}", "write a list, or leave the key out")
        return
    for number, item in enumerate(node.items):
        yield from item_problems(key, item, pointer_to(key, number))


def item_problems(key: str, item: Node, pointer: str) -> Iterator[Problem]:
    where = Where(FILE, item.line, pointer)
    if is_blank(item):
        yield CHECK.problem(where, f"{key} holds an entry without a value", "take the entry out")
    elif not isinstance(item, Scalar):
        # Cards of 2021 list metrics as mappings; whether the Hub still takes them is not documented.
        severity = "warning" if key == "metrics" else "error"
        yield CHECK.problem(where, f"{key} holds a {kind_of(item)} where text belongs", "write one text an entry", severity)
    elif kind_of(item) != "string":
        yield CHECK.problem(where, f"{key} holds the {kind_of(item)} {item.text[:40]}, not text", "put it in quotes")


CHECK = Check("HR519", "card-metadata-type", "card metadata of a wrong type", run)
