"""A module that the config declares quantised is stored in its original dtype.

Why it matters: A reader makes a quantised layer, looks for codes and scales that are not there, and stops.
Mend: List the module in the exclusions under its full name, or quantise it.
Source: vllm-project/vllm PR 41457; compressed-tensors 0.20.1 as a reader needs lm_head in `ignore` even where it is tied.

An error where the same module is quantised in other layers, or where the config names it. Where a whole kind of linear is in
its original dtype and only the class name `Linear` covers it, transformers may still load it: that is a warning. So are MTP
layers, which transformers does not load and vLLM builds with the same config (models/qwen3_5_mtp.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered, role
from hubrelease.quantisation.modules import Module
from hubrelease.release import Release

PROJECTIONS = frozenset(
    ("q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "gate_proj", "up_proj", "gate_up_proj", "down_proj", "w1", "w2", "w3")
)
OTHER_TOWERS = ("visual", "vision", "audio", "mtp", "nextn", "image", "speech", "draft")
MEND = "list the module in the exclusions under its full name, or quantise it"


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.scheme is not None and found.scheme.thorough and found.quantised and found.complete:
            yield from problems(found)


def problems(found: Quantised) -> Iterator[Problem]:
    assert found.scheme is not None
    rows: dict[str, list[str]] = {"error": [], "warning": []}
    for name, declared in found.declared.items():
        if (
            declared.state == "quantised"
            and name not in found.quantised
            and (severity := judge(found, found.modules[name], declared.named))
        ):
            rows[severity].append(name)
    for severity, names in rows.items():
        for _, _, alike in gathered((severity, "", name) for name in names):
            dtype = found.modules[alike[0]].parts["weight"].tensor.dtype
            message = f"{few(alike)}: {dtype} in {found.modules[alike[0]].file}, but declared quantised (no exclusion names it)"
            yield CHECK.problem(Where(found.scheme.file, pointer=found.scheme.pointer, tensor=alike[0]), message, MEND, severity)
    if tied_head(found):
        message = "lm_head is tied and not in `ignore`: compressed-tensors refuses to load such a config, or misses its scale"
        yield CHECK.problem(Where(found.scheme.file, pointer=found.scheme.pointer + "/ignore"), message, "add lm_head to ignore", "warning")


def judge(found: Quantised, module: Module, named: bool) -> str | None:
    """How bad it is that this module is not quantised; None where readers may be meant to leave it alone."""
    assert found.scheme is not None
    leaf = module.name.rpartition(".")[2]
    if partial_blocks(found, module):
        return None
    if leaf == "lm_head" and not named:
        return {"compressed-tensors": "error", "modelopt": "warning"}.get(found.scheme.method)
    if named or role(module.name) in found.roles:
        return None if any(word in module.name for word in OTHER_TOWERS) and not named else "error"
    if module.name.startswith("mtp.") and (leaf in PROJECTIONS or leaf == "fc"):
        return "warning"
    in_text = ".layers." in module.name and not any(word in module.name for word in OTHER_TOWERS)
    return "warning" if leaf in PROJECTIONS and in_text and found.scheme.method != "fp8" else None


def partial_blocks(found: Quantised, module: Module) -> bool:
    """transformers leaves a weight alone whose rows or columns are no multiple of the block."""
    layout = found.declared[module.name].layout
    shape = module.parts["weight"].tensor.shape
    return layout is not None and layout.block is not None and any(size % edge for size, edge in zip(shape, layout.block, strict=True))


def tied_head(found: Quantised) -> bool:
    applied = found.declaration
    if applied is None or applied.by_class is None or applied.scheme.method != "compressed-tensors" or applied.scheme.scope:
        return False
    entries = [entry.text for entry in applied.scheme.exclusions]
    absent = not any(name.endswith("lm_head") for name in found.modules)
    return (
        absent
        and found.config.get("tie_word_embeddings") is True
        and not any("lm_head" in text or text.startswith("re:") for text in entries)
    )


CHECK = Check("HR251", "declared-but-unquantised", "unquantised module that the config declares quantised", run)
