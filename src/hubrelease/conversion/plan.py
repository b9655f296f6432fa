"""The layout of every output shard before its first byte: which tensor comes from where, and as what.

Shards keep the source's names and order: a tensor stays in the shard where it was, its scales follow it. The index is
made from the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from hubrelease.conversion.rules import WEIGHT, Choice
from hubrelease.formats import Format, Part
from hubrelease.weights import BITS, Tensor


@dataclass(frozen=True, slots=True)
class Output:
    """One tensor of an output shard. `part` is None where the source's bytes are carried over as they are."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    source: Tensor
    part: Part | None = None

    @property
    def size(self) -> int:
        return prod(self.shape) * BITS[self.dtype] // 8


@dataclass(frozen=True)
class ShardPlan:
    """One output shard: its outputs in file order, and the source tensors that are dropped, each with its reason."""

    name: str
    outputs: tuple[Output, ...]
    dropped: Mapping[str, str]


def plan_shard(
    name: str, tensors: Sequence[Tensor], choice: Choice, form: Format, dropped: Mapping[str, str], apart: Iterable[str]
) -> ShardPlan:
    """The plan of one shard. Parts whose suffix is in `apart` go to a shard of their own (see apart_shard)."""
    chosen, elsewhere = set(choice.quantised), set(apart)
    outputs: list[Output] = []
    for tensor in tensors:
        module = tensor.name.removesuffix(WEIGHT)
        if tensor.name in dropped:
            continue
        if tensor.name.endswith(WEIGHT) and module in chosen:
            outputs += [as_output(module, part, tensor) for part in parts_of(form, tensor) if part.suffix not in elsewhere]
        else:
            outputs.append(Output(tensor.name, tensor.dtype, tensor.shape, tensor))
    return ShardPlan(name, tuple(outputs), {t.name: dropped[t.name] for t in tensors if t.name in dropped})


def apart_shard(name: str, tensors: Iterable[Tensor], choice: Choice, form: Format, apart: Iterable[str]) -> ShardPlan:
    """The shard that holds the small tensors which replace themselves without touching the weights, such as activation scales."""
    chosen, suffixes = set(choice.quantised), set(apart)
    quantised = sorted((t for t in tensors if t.name.endswith(WEIGHT) and t.name.removesuffix(WEIGHT) in chosen), key=lambda t: t.name)
    outputs = [as_output(t.name.removesuffix(WEIGHT), p, t) for t in quantised for p in parts_of(form, t) if p.suffix in suffixes]
    return ShardPlan(name, tuple(outputs), {})


def parts_of(form: Format, tensor: Tensor) -> tuple[Part, ...]:
    rows, columns = tensor.shape
    return form.parts(rows, columns, tensor.dtype)


def as_output(module: str, part: Part, tensor: Tensor) -> Output:
    return Output(module + part.suffix, part.dtype, part.shape, tensor, part)


def clashes(plans: Iterable[ShardPlan]) -> list[str]:
    """Names that two outputs would have: a scale of ours and a tensor of the source, say."""
    seen: set[str] = set()
    twice: list[str] = []
    for output in (o for plan in plans for o in plan.outputs):
        if output.name in seen:
            twice.append(output.name)
        seen.add(output.name)
    return twice
