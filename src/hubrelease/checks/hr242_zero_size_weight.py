"""A weight has no elements, or an adapter or model file has no tensors.

Told of are matrices (`weight`, `…_proj`, LoRA's) and whatever has elements in another layer. A marker such as `scaled_fp8` of
shape [0] is legal (promptfoo/modelaudit PR 1607).

Why it matters: a ZeRO-3 save without gathering leaves every weight with shape [0]; it loads as an untrained model, or not at all.
Mend: Save again with the weights gathered (stage3_gather_16bit_weights_on_model_save, or zero_to_fp32).
Source: OpenRLHF/OpenRLHF issue 839; huggingface/transformers issue 20082; huggingface/peft issue 1710; deepspeedai/DeepSpeed issue 7900.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import SINGLE, Container, WeightSet, folder_of
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import expected_weights
from hubrelease.release import Release
from hubrelease.telling import counted, few, named
from hubrelease.weights import Tensor

MEND = "save again with the weights gathered"
MARKERS = ("scaled_fp8", "_extra_state")
MATRICES = ("weight", "weight_packed", "qweight", "kernel", "lora_A", "lora_B")
ADAPTERS = ("adapter_model.safetensors", "pytorch_lora_weights.safetensors")


def run(release: Release) -> Iterator[Problem]:
    yield from few(problem for container in release.containers.all.values() for problem in container_problems(release, container))
    for path, file in release.containers.ggufs.items():
        empty = [tensor.name for tensor in file.tensors if 0 in tensor.shape]
        if empty:
            yield tensors_problem(path, empty, "a dimension of 0")


def container_problems(release: Release, container: Container) -> Iterator[Problem]:
    if container.header is None:
        return
    if not container.header.tensors and container.file.rpartition("/")[2] in (*ADAPTERS, SINGLE):
        yield CHECK.problem(container.file, "is a valid file without any tensor", MEND)
    empty = [tensor for tensor in container.header.tensors if 0 in tensor.shape]
    weights = release.containers.sets_by_folder.get(folder_of(container.file)) if empty else None
    if wrong := [tensor.name for tensor in empty if is_weight(weights, tensor)]:
        shape = next(tensor.shape for tensor in empty if tensor.name == wrong[0])
        asked = [expected_weights(m).get(wrong[0].removesuffix(".weight")) for m in release.models if m.folder == folder_of(container.file)]
        wanted = f"; config.json asks for {list(asked[0])}" if asked and asked[0] else ""
        yield tensors_problem(container.file, wrong, f"the shape {list(shape)}{wanted}")


def is_weight(weights: WeightSet | None, tensor: Tensor) -> bool:
    """Is this a tensor that must have elements?"""
    last = tensor.name.rpartition(".")[2]
    if last in MARKERS:
        return False
    return last in MATRICES or last.endswith("_proj") or ".lora_" in tensor.name or has_full_sibling(weights, tensor.name)


def has_full_sibling(weights: WeightSet | None, name: str) -> bool:
    """Does the tensor of another layer have elements? Looked for in the layers next to it only."""
    steps = name.split(".")
    held = weights.tensors if weights else {}
    for place, step in enumerate(steps):
        if not step.isdecimal() or len(step) > 6:
            continue
        for number in (0, 1, int(step) - 1, int(step) + 1):
            other = held.get(".".join([*steps[:place], str(number), *steps[place + 1 :]]))
            if other is not None and 0 not in other.tensor.shape:
                return True
    return False


def tensors_problem(path: str, names: list[str], shape: str) -> Problem:
    have = "has" if len(names) == 1 else "have"
    message = f"{counted(len(names), 'weight')} {have} no elements ({shape}): {named(names)}"
    return CHECK.problem(Where(path, tensor=names[0][:1000]), message, MEND)


CHECK = Check("HR242", "zero-size-weight", "weight without elements", run)
