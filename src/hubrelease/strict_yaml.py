"""YAML as JSON: mappings, lists and JSON's scalars, each value with the file and line that said it.

Refused, each with its line: a key given twice, aliases, anchors, tags, merge keys, several documents, bytes that are not
UTF-8, control and bidi characters, line ends other than LF and CRLF, nesting beyond 64 levels. A plain scalar stays the text that
was written until a JSON Schema says which type is meant (`typed`): so `version: 1.10`, `language: no` and a commit of 40
digits are strings. Where a schema says nothing, a number of more than 18 digits stays text: no reader may round it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hubrelease.errors import Problem, SpecError, Where, problem

MAX_BYTES = 2**20  # about two seconds in the worst case; a spec of a hundred releases takes 100 kB
MAX_DEPTH = 64
# Everything but printable characters, tab and line ends. YAML 1.1 takes U+0085, U+2028 and U+2029 for line ends, JSON and
# YAML 1.2 do not; U+202A to U+202E and U+2066 to U+2069 show a line in another order than it has (CVE-2021-42574); the rest
# are control characters, half surrogates and byte order marks.
UNFIT = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
WRITE_PLAIN = "write plain YAML: mappings, lists and scalars, each key once"


@dataclass(frozen=True, slots=True)
class Scalar:
    text: str
    plain: bool
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Node, ...]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Pair:
    key: str
    value: Node
    file: str
    line: int


@dataclass(frozen=True)
class Mapping:
    pairs: tuple[Pair, ...]
    file: str
    line: int

    @cached_property
    def by_key(self) -> dict[str, Pair]:
        return {pair.key: pair for pair in self.pairs}

    def get(self, key: str) -> Node | None:
        pair = self.by_key.get(key)
        return pair.value if pair else None


Node = Scalar | Sequence | Mapping


def compose(data: bytes, file: str) -> Node:
    """The node of one YAML document. SpecError (HR101) with the line of the first fault."""
    text = whole_characters(decode(data, file))
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return Composer(yaml, yaml.parse(text, Loader=loader), file).document()
    except yaml.MarkedYAMLError as error:
        raise SpecError(syntax_fault(file, text, error)) from None
    except yaml.YAMLError as error:
        raise SpecError(fault(file, 1, f"is not YAML: {error}".split("\n")[0])) from None


def decode(data: bytes, file: str) -> str:
    if len(data) > MAX_BYTES:
        raise SpecError(fault(file, 1, f"is larger than {MAX_BYTES} bytes"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = "is UTF-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else f"byte {error.start} is not UTF-8"
        raise SpecError(fault(file, line, message, "save it as UTF-8")) from None
    text = text.removeprefix("\ufeff")
    if unfit := UNFIT.search(text):
        line = text.count("\n", 0, unfit.start()) + 1
        raise SpecError(fault(file, line, unfit_message(unfit[0])))
    return text


def whole_characters(text: str) -> str:
    """A JSON document with each escaped surrogate pair as the one character that it is: YAML knows no such pairs."""
    if not re.search(r"\\u[dD][89abAB]", text):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    pair = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.I)  # a backslash that is escaped begins no escape
    return pair.sub(lambda m: chr(0x10000 + (int(m[1], 16) - 0xD800) * 0x400 + int(m[2], 16) - 0xDC00) if m[1] else m[0], text)


def unfit_message(character: str) -> str:
    return f"holds U+{ord(character):04X}; control and bidi characters, and line ends other than LF and CRLF, are not allowed"


def fault(file: str, line: int, message: str, mend: str = WRITE_PLAIN) -> Problem:
    return problem("yaml-invalid", Where(file, line), message, mend)


# What libyaml says, and what usually is behind it.
SYNTAX = (
    ("mapping values are not allowed", 'quote a text that holds ": ", or see to the indentation'),
    ("did not find expected ',' or", "close the bracket [ or { that is open, or quote a text that holds brackets or a comma"),
    ("did not find expected", "see to the indentation of this line and of the one before; quote a text that begins with a sign"),
    ("could not find expected ':'", "write the key, a colon and a blank before the value; see to the indentation"),
    ("found unexpected end of stream", "close the quote or the bracket that is open"),
    ("cannot start any token", "quote a text that begins with a sign"),
)


def syntax_fault(file: str, text: str, error: Any) -> Problem:
    """A fault of YAML's syntax in libyaml's words, with what usually mends it. A tab before a key is named: nobody sees it."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = re.split("\r?\n", text)
    written = lines[line] if line < len(lines) else ""
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return fault(file, line + 1, "is not YAML: the line is indented with a tab", "indent with blanks")
    message = " ".join(filter(None, (error.context, error.problem)))
    mend = next((mend for words, mend in SYNTAX if words in message), WRITE_PLAIN)
    return fault(file, line + 1, f"is not YAML: {message}, at column {column + 1}", mend)


class Composer:
    """Builds nodes from PyYAML's flat events with a stack of our own, so that depth is bounded by a rule of ours."""

    def __init__(self, yaml: Any, events: Iterator[Any], file: str) -> None:
        self.yaml, self.events, self.file = yaml, events, file

    def document(self) -> Node:
        root: Node | None = None
        for event in self.events:
            if isinstance(event, self.yaml.DocumentStartEvent):
                if root is not None:
                    self.refuse(event, "a second document starts here; one file is one document")
                root = self.node(next(self.events), 0)
        return root if root is not None else Scalar("", True, self.file, 1)

    def node(self, event: Any, depth: int) -> Node:
        self.check(event, depth)
        line = event.start_mark.line + 1
        if isinstance(event, self.yaml.ScalarEvent):
            return Scalar(self.value(event), not event.style, self.file, line)
        if isinstance(event, self.yaml.SequenceStartEvent):
            return Sequence(tuple(self.items(depth)), self.file, line)
        return Mapping(tuple(self.pairs(depth)), self.file, line)

    def check(self, event: Any, depth: int) -> None:
        if isinstance(event, self.yaml.AliasEvent) or event.anchor:
            self.refuse(event, "anchors and aliases (& and *) are not allowed")
        if event.tag:
            self.refuse(event, f"tags are not allowed ({event.tag[:60]})")
        if depth > MAX_DEPTH:
            self.refuse(event, f"nested deeper than {MAX_DEPTH} levels")

    def value(self, event: Any) -> str:
        """A scalar's text. What was written as an escape is held to the same rule as what was written plainly."""
        text: str = event.value
        if unfit := UNFIT.search(text) or re.search("\r", text):
            self.refuse(event, unfit_message(unfit[0]))
        return text

    def items(self, depth: int) -> Iterator[Node]:
        while not isinstance(event := next(self.events), self.yaml.SequenceEndEvent):
            yield self.node(event, depth + 1)

    def pairs(self, depth: int) -> Iterator[Pair]:
        seen: dict[str, int] = {}
        while not isinstance(event := next(self.events), self.yaml.MappingEndEvent):
            if not isinstance(event, self.yaml.ScalarEvent):
                self.refuse(event, "a key must be a plain word, not a list, a mapping or an alias")
            self.check(event, depth)
            key, line = self.value(event), event.start_mark.line + 1
            if key in seen:
                self.refuse(event, f'the key "{key[:60]}" stands twice, first on line {seen[key]}')
            if key == "<<" and not event.style:
                self.refuse(event, "merge keys (<<) are not allowed")
            seen[key] = line
            yield Pair(key, self.node(next(self.events), depth + 1), self.file, line)

    def refuse(self, event: Any, message: str) -> None:
        raise SpecError(fault(self.file, event.start_mark.line + 1, message))


def merge(first: Node, second: Node) -> Node:
    """`second` laid over `first`: mappings key by key, everything else (lists too) replaced."""
    if not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        return second
    later = {pair.key: pair for pair in second.pairs}
    kept = [merge_pair(pair, later.pop(pair.key, None)) for pair in first.pairs]
    return Mapping((*kept, *later.values()), second.file, second.line)


def merge_pair(first: Pair, second: Pair | None) -> Pair:
    return Pair(second.key, merge(first.value, second.value), second.file, second.line) if second else first


def find(node: Node, pointer: str) -> tuple[str, int]:
    """File and line of what an RFC 6901 pointer names; of its nearest parent where it names nothing."""
    place = (node.file, node.line)
    for step in pointer_steps(pointer):
        if isinstance(node, Mapping):
            pair = node.by_key.get(step)
            if pair is None:
                break
            node, place = pair.value, (pair.file, pair.line)
        elif isinstance(node, Sequence) and (index := list_index(step, len(node.items))) is not None:
            node = node.items[index]
            place = (node.file, node.line)
        else:
            break
    return place


def pointer_steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def list_index(step: str, count: int) -> int | None:
    """What a step of a pointer names in a list of `count` items: digits without leading zeros (RFC 6901, 4)."""
    return int(step) if re.fullmatch("0|[1-9][0-9]{0,8}", step) and int(step) < count else None


def pointer_to(*steps: object) -> str:
    """The RFC 6901 pointer of `steps`."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


# ------------------------------------------------------------------------------------------------- values by schema

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def plain_value(text: str) -> object:
    """A plain scalar as JSON, where that loses nothing of the text: 7 and 0.5 are numbers, 1.10 and 007 are not."""
    words: dict[str, object] = {"": None, "null": None, "true": True, "false": False}
    if text in words:
        return words[text]
    number = json_number(text)
    return number if repr(number) == text and (isinstance(number, float) or len(text.lstrip("-")) <= 18) else text


def json_number(text: str) -> int | float | str:
    """The number that `text` is in JSON, `text` itself where it is none or not finite."""
    if len(text) > 64 or not JSON_NUMBER.fullmatch(text):
        return text
    number: int | float = float(text) if set(text) & set(".eE") else int(text)
    return number if abs(number) < float("inf") else text


def typed(node: Node, schema: dict[str, Any]) -> Any:
    """The node as a JSON value; where `schema` wants a string, a plain scalar stays the text that was written."""
    return typed_by(node, [schema], schema)


def typed_by(node: Node, schemas: list[dict[str, Any]], root: dict[str, Any]) -> Any:
    branches = [branch for schema in schemas for branch in expand(schema, root, 0)]
    if isinstance(node, Mapping):
        return {p.key: typed_by(p.value, [s for b in branches for s in of_key(b, p.key)], root) for p in node.pairs}
    if isinstance(node, Sequence):
        below = [b["items"] for b in branches if isinstance(b.get("items"), dict)]
        return [typed_by(item, below, root) for item in node.items]
    return node.text if not node.plain else scalar_by(node.text, branches)


def scalar_by(text: str, branches: list[dict[str, Any]]) -> object:
    types = {t for b in branches for t in ([b["type"]] if isinstance(b.get("type"), str) else b.get("type", ()))}
    if types & {"integer", "number"} and "string" not in types and (number := json_number(text)) is not text:
        return number
    value = plain_value(text)
    fits = TYPES[type(value)] in types or (type(value) is int and "number" in types)
    return text if "string" in types and not fits else value


def expand(schema: dict[str, Any], root: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    """`schema` and every schema that it refers to for the same value."""
    yield schema
    if depth > 8:
        return
    below = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    if reference := schema.get("$ref"):
        target: Any = root
        for step in pointer_steps(reference.removeprefix("#")):
            target = target[step]
        below.append(target)
    for branch in below:
        yield from expand(branch, root, depth + 1)


def of_key(schema: dict[str, Any], key: str) -> list[dict[str, Any]]:
    if key in schema.get("properties", {}):
        return [schema["properties"][key]]
    found = [s for pattern, s in schema.get("patternProperties", {}).items() if re.search(pattern, key)]
    other = schema.get("additionalProperties")
    return found or ([other] if isinstance(other, dict) else [])
