"""The YAML block at the top of a card, as the Hub reads it: split off by its rule, composed with the line of each value.

strict_yaml's composer does the work, but what the Hub's reader (js-yaml 4, YAML 1.2) takes and a spec of ours may not
hold is no fault here: aliases, merge keys, the standard tags, text above U+007F of any kind. A key given twice is one for both.
Scalars keep the text that was written; `kind_of` says which type the Hub's reader makes of it, so `no` is text and `1` is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hubrelease import strict_yaml
from hubrelease.errors import SpecError
from hubrelease.strict_yaml import Mapping, Node, Pair, Scalar, Sequence

MAX_NODES = 100_000  # a card with every result of MTEB has some 20,000; aliases that multiply have more
NO_BREAKS = dict.fromkeys((0x85, 0x2028, 0x2029), " ")  # line ends for YAML 1.1 alone
BREAK = re.compile("\r\n|\r|\n")
KEY_LINE = re.compile(r"[A-Za-z_][\w-]*:(\s|$)")
CORE_TAGS = re.compile(r"tag:yaml\.org,2002:(str|int|float|bool|null|map|seq|timestamp)")
TAGGED_STRING = "tag:yaml.org,2002:str"


class Fault(NamedTuple):
    """Why the block can't be read, or reads differently in different readers."""

    line: int
    message: str


@dataclass(frozen=True)
class FrontMatter:
    """`node` is None where there is no block, or none that can be read; then `faults` or `absence` say why."""

    node: Mapping | None
    faults: tuple[Fault, ...] = ()
    absence: str | None = None
    body: str = ""
    body_line: int = 1

    def get(self, key: str) -> Node | None:
        return self.node.get(key) if self.node else None

    def line(self, key: str) -> int:
        pair = self.node.by_key.get(key) if self.node else None
        return pair.line if pair else 1


def read(text: str, file: str) -> FrontMatter:
    """The front matter of a card's text."""
    text = text.removeprefix("\ufeff")
    rows = BREAK.split(text)
    start = next((i for i, row in enumerate(rows) if row.strip()), None)
    if start is None:
        return FrontMatter(None, absence="is empty")
    if rows[start].lstrip() != "---":
        return FrontMatter(None, absence=why_absent(rows, start), body="\n".join(rows))
    end = closing_row(rows, start, BREAK.findall(text)[start : start + 1] == ["\r\n"])
    if end is None:
        return unclosed(rows, start)
    body, line = "\n".join(rows[end + 1 :]), end + 2
    composer = CardComposer(file)
    try:
        node = composer.compose("\n".join(["", *[""] * start, *rows[start + 1 : end]]))
    except SpecError as error:
        found = [Fault(p.where.line or start + 1, p.message) for p in error.problems]
        return FrontMatter(None, tuple(found), body=body, body_line=line)
    if isinstance(node, Mapping):
        return FrontMatter(node, tuple(composer.faults), body=body, body_line=line)
    if kind_of(node) == "null":
        return FrontMatter(None, absence="has an empty metadata block", body=body, body_line=line)
    fault = Fault(start + 2, f"the metadata block is a {kind_of(node)}, not a mapping of keys to values")
    return FrontMatter(None, (fault,), body=body, body_line=line)


def closing_row(rows: list[str], start: int, is_crlf: bool) -> int | None:
    """The row that closes the block. Opening and closing row take a line end each, so they can't touch but for the two
    characters of CRLF, and then only where no later row closes it (the server's rule: huggingface_hub 2.4.0, repocard.py).
    """
    rest = range(start + 2, len(rows))
    return next((i for i in (*rest, *([start + 1] if is_crlf else [])) if i < len(rows) and rows[i].rstrip(" \t") == "---"), None)


def why_absent(rows: list[str], start: int) -> str:
    if rows[start].strip() == "---":
        return "opens its metadata block with blanks after ---, so the Hub sees none"
    late = next((i for i in range(start + 1, min(len(rows) - 1, start + 30)) if rows[i].rstrip() == "---" and is_key(rows[i + 1])), None)
    if late is not None:
        return f"has its metadata block on line {late + 1} instead of at the very start, so the Hub sees none"
    return "has no metadata block"


def unclosed(rows: list[str], start: int) -> FrontMatter:
    follows = next((row for row in rows[start + 1 :] if row.strip()), "")
    body = "\n".join(rows)
    if is_key(follows):
        return FrontMatter(None, (Fault(start + 1, "the metadata block is never closed by a line of ---"),), body=body)
    return FrontMatter(None, absence="has no metadata block", body=body)


def is_key(row: str) -> bool:
    return KEY_LINE.match(row) is not None


class CardComposer(strict_yaml.Composer):
    """strict_yaml's composer with what cards may hold: aliases (bounded), merge keys, tags of the core schema."""

    def __init__(self, file: str) -> None:
        import yaml

        super().__init__(yaml, iter(()), file)
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.faults: list[Fault] = []
        self.nodes = 0

    def compose(self, text: str) -> Node:
        """Raises SpecError with the line of what no reader takes."""
        if len(text) > strict_yaml.MAX_BYTES:
            raise SpecError(strict_yaml.fault(self.file, 1, f"the metadata block is larger than {strict_yaml.MAX_BYTES} characters"))
        loader = getattr(self.yaml, "CSafeLoader", self.yaml.SafeLoader)
        try:
            self.events = self.yaml.parse(text.translate(NO_BREAKS), Loader=loader)
            return self.document()
        except self.yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            message = " ".join(filter(None, (error.context, error.problem)))
            raise SpecError(
                strict_yaml.fault(self.file, mark.line + 1 if mark else 1, f"the metadata block is not YAML: {message}")
            ) from None
        except self.yaml.YAMLError as error:
            message = str(error).split("\n", maxsplit=1)[0]
            raise SpecError(strict_yaml.fault(self.file, 1, f"the metadata block is not YAML: {message}")) from None

    def check(self, event: Any, depth: int) -> None:
        tag = getattr(event, "tag", None)
        if tag and tag != "!" and not CORE_TAGS.fullmatch(tag):
            self.refuse(event, f"the tag {tag[:60]} is known to no reader of cards")
        if depth > strict_yaml.MAX_DEPTH:
            self.refuse(event, f"nested deeper than {strict_yaml.MAX_DEPTH} levels")

    def value(self, event: Any) -> str:
        return str(event.value)

    def node(self, event: Any, depth: int) -> Node:
        if isinstance(event, self.yaml.AliasEvent):
            return self.aliased(event)
        before = self.nodes
        found = super().node(event, depth)
        if isinstance(found, Scalar) and event.tag in (TAGGED_STRING, "!"):
            found = replace(found, plain=False)
        self.count(event, 1)
        if event.anchor:
            self.anchors[event.anchor] = (found, self.nodes - before)
        return found

    def aliased(self, event: Any) -> Node:
        if event.anchor not in self.anchors:
            self.refuse(event, f"the alias *{event.anchor[:40]} stands for nothing")
        found, size = self.anchors[event.anchor]
        self.count(event, size)
        return found

    def count(self, event: Any, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            self.refuse(event, f"holds more than {MAX_NODES} values")

    def pairs(self, depth: int) -> Iterator[Pair]:
        seen: dict[str, int] = {}
        merged: list[Node] = []
        while not isinstance(event := next(self.events), self.yaml.MappingEndEvent):
            if not isinstance(event, self.yaml.ScalarEvent):
                self.refuse(event, "a key must be a plain word, not a list, a mapping or an alias")
            self.check(event, depth)
            key, line = self.value(event), event.start_mark.line + 1
            value = self.node(next(self.events), depth + 1)
            if key == "<<" and not event.style:
                merged.append(value)
            elif key in seen:
                self.faults.append(Fault(line, f'the key "{key[:60]}" stands twice, first on line {seen[key]}'))
            else:
                seen[key] = line
                yield Pair(key, value, self.file, line)
        yield from (pair for pair in inherited(merged) if pair.key not in seen)


def inherited(values: list[Node]) -> Iterator[Pair]:
    """The pairs that merge keys bring in."""
    for value in values:
        sources = value.items if isinstance(value, Sequence) else (value,)
        yield from (pair for source in sources if isinstance(source, Mapping) for pair in source.pairs)


# --------------------------------------------------------------------------------------------- types of plain scalars

NULL = re.compile(r"~|null|Null|NULL|")
BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
INTEGER = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)")
NUMBER = re.compile(r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?")
NON_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{4}-\d\d?-\d\d?([Tt]|[ \t]+)\d\d?:\d\d:\d\d.*")
KINDS = (("null", NULL), ("boolean", BOOLEAN), ("integer", INTEGER), ("number", NUMBER), ("non-finite number", NON_FINITE), ("date", DATE))


def kind_of(node: Node) -> str:
    """What the Hub's reader makes of a node: mapping, list, string, null, boolean, integer, number, non-finite number, date."""
    if isinstance(node, Mapping):
        return "mapping"
    if isinstance(node, Sequence):
        return "list"
    if not node.plain or len(node.text) > 100:
        return "string"
    return next((kind for kind, form in KINDS if form.fullmatch(node.text)), "string")


def is_blank(node: Node) -> bool:
    """True for a key with nothing behind it: null, or text of blanks alone."""
    return isinstance(node, Scalar) and (kind_of(node) == "null" or not node.text.strip())


def items_of(node: Node | None) -> tuple[Node, ...]:
    """The values of a key that holds one value or a list of them."""
    if node is None:
        return ()
    return node.items if isinstance(node, Sequence) else (node,)


def texts_of(node: Node | None) -> tuple[Scalar, ...]:
    """Those of `items_of` that are text."""
    return tuple(item for item in items_of(node) if isinstance(item, Scalar) and kind_of(item) == "string" and item.text.strip())
