"""The form of card metadata as a table: which keys a mapping must and may have, and of which kind. Faults with their pointers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hubrelease import strict_yaml
from hubrelease.front_matter import kind_of
from hubrelease.strict_yaml import Node, Sequence, pointer_to


@dataclass(frozen=True)
class Shape:
    """`kinds` are those of front_matter.kind_of; () takes any but null. `keys` are a mapping's, `item` a list's."""

    kinds: tuple[str, ...] = ()
    keys: Mapping[str, Shape] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    item: Shape | None = None


class Misfit(NamedTuple):
    pointer: str
    line: int
    message: str


TEXT, ANY = Shape(("string",)), Shape()


def list_of(item: Shape) -> Shape:
    return Shape(("list",), item=item)


def mapping_of(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    return Shape(("mapping",), {**required, **(optional or {})}, tuple(required))


def misfits(node: Node, shape: Shape, pointer: str) -> Iterator[Misfit]:
    """What of `node` does not fit. The path of each field is written as the Hub writes it, in the message."""
    kind = kind_of(node)
    if kind == "null" or (shape.kinds and kind not in shape.kinds):
        wanted = f"must be a {' or a '.join(shape.kinds)}" if shape.kinds else "must have a value"
        yield Misfit(pointer, node.line, f"{dotted(pointer)} {wanted}, not {said(node, kind)}")
    elif kind == "string" and isinstance(node, strict_yaml.Scalar) and not node.text.strip():
        yield Misfit(pointer, node.line, f"{dotted(pointer)} is blank")
    elif isinstance(node, Sequence) and shape.item:
        for number, item in enumerate(node.items):
            yield from misfits(item, shape.item, f"{pointer}/{number}")
    elif isinstance(node, strict_yaml.Mapping):
        yield from mapping_misfits(node, shape, pointer)


def mapping_misfits(node: strict_yaml.Mapping, shape: Shape, pointer: str) -> Iterator[Misfit]:
    for key in shape.required:
        if node.get(key) is None:
            yield Misfit(pointer, node.line, f"{dotted(pointer + pointer_to(key))} is required")
    for pair in node.pairs:
        if pair.key in shape.keys:
            for found in misfits(pair.value, shape.keys[pair.key], pointer + pointer_to(pair.key)):
                yield found if found.line >= pair.line else found._replace(line=pair.line)


def said(node: Node, kind: str) -> str:
    if kind == "null":
        return kind
    return f"the {kind} {node.text[:40]}" if isinstance(node, strict_yaml.Scalar) else f"a {kind}"


def dotted(pointer: str) -> str:
    """/model-index/0/results as model-index[0].results."""
    steps = strict_yaml.pointer_steps(pointer)
    return "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps).lstrip(".")[:120] or "the document"
