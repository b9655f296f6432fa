"""An adapter's tensors do not fit each other, or not the module of the base that they change.

Why it matters: loading stops with a size mismatch: the adapter was trained on another base.
Mend: Name the base that the adapter was trained on, or ship the adapter that belongs to this base.
Source: huggingface/peft issue 1710.

The base's modules are known where the same release holds the base; the inner sizes of a pair are compared always.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hubrelease.adapters import Adapter, LoraModule, logical_shapes
from hubrelease.architectures import Shape
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import grouped
from hubrelease.release import Release

MEND = "ship the adapter that belongs to this base, or name the base that it was trained on"


def run(release: Release) -> Iterator[Problem]:
    for adapter in release.adapters:
        shapes = logical_shapes(adapter.base) if adapter.base and adapter.modules else {}
        faults: dict[str, str] = {}
        for name, module in adapter.modules.items():
            if why := inner_fault(module) or base_fault(adapter, module, shapes):
                faults[name] = why
        for _, first, count in grouped(faults, 4):
            more = f", and {count - 1} more of its kind differ" if count > 1 else ""
            yield CHECK.problem(Where(adapter.weights_file, tensor=first), f"{first}: {faults[first]}{more}", MEND)


def inner_fault(module: LoraModule) -> str | None:
    """A and B have one rank."""
    one, other = module.parts.get("A"), module.parts.get("B")
    if (
        one
        and other
        and len(one.shape) > 1
        and len(other.shape) > 1
        and one.shape[0] != other.shape[1]
        and 0 not in (*one.shape, *other.shape)
    ):
        return f"lora_A is {list(one.shape)} and lora_B {list(other.shape)}: their ranks differ"
    return None


def base_fault(adapter: Adapter, module: LoraModule, shapes: Mapping[str, Shape]) -> str | None:
    shape, one, other = shapes.get(module.name), module.parts.get("A"), module.parts.get("B")
    if shape is None or len(shape) != 2 or one is None or other is None or len(one.shape) != 2 or len(other.shape) != 2:
        return None
    found = (other.shape[0], one.shape[1])
    if 0 in found or found == shape or found == shape[::-1]:  # Conv1D stores its weight the other way round
        return None
    return f"changes a weight of {list(found)}, and the base's is {list(shape)}"


CHECK = Check("HR335", "adapter-shape", "adapter that does not fit its base", run)
