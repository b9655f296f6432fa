"""A scale stands where no reader looks for it: beside a weight that is not quantised, or one that the format does not have.

Why it matters: Loaders stop at a tensor that they have no place for, or drop it; either way config and tensors disagree.
Mend: Drop the tensor, or quantise the weight that it belongs to.
Source: sgl-project/sglang issue 3604 (a KeyError on a layer's weight_scale).

An error beside an unquantised weight. A tensor that the format does not have, and scales of activations, are a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.layout import INPUT
from hubrelease.quantisation.modules import SCALE_LEAVES, Module
from hubrelease.quantisation.part_faults import KINDRED
from hubrelease.release import Release

MEND = "drop the tensor, or quantise the weight that it belongs to"
WEIGHT_SCALES = frozenset(leaf for leaf in SCALE_LEAVES if leaf.startswith("weight_"))


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.scheme is None:
            continue
        rows = [*beside_plain_weights(found), *unknown_to_format(found)]
        for severity in ("error", "warning"):
            for file, message, names in gathered((file, text, name) for grade, file, text, name in rows if grade == severity):
                yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", MEND, severity)


Row = tuple[str, str, str, str]


def beside_plain_weights(found: Quantised) -> Iterator[Row]:
    """Scales of modules whose weight is in its original dtype, unless the module should have been quantised (said elsewhere)."""
    for name, module in found.modules.items():
        leaves = module.parts.keys() & SCALE_LEAVES
        if not leaves or module.stacked or module.codes is not None or found.declared.get(name, None) is None:
            continue
        if found.declared[name].state == "quantised":
            continue
        for leaf in sorted(leaves):
            severity = "error" if leaf in WEIGHT_SCALES else "warning"
            yield severity, module.parts[leaf].file, "a scale beside a weight that is not quantised", f"{name}.{leaf}"


def unknown_to_format(found: Quantised) -> Iterator[Row]:
    misnamed = {(f.module.name, leaf) for f in found.part_faults if f.kind == "scale-name" for leaf in KINDRED.get(f.part.role, ())}
    for name, layout in found.layouts.items():
        module = found.quantised[name]
        for leaf in sorted((module.parts.keys() & SCALE_LEAVES) - layout.leaves):
            if (name, leaf) not in misnamed and not dynamic_input(found, module, leaf):
                yield "warning", module.parts[leaf].file, f"{layout.name} has no tensor of this name", f"{name}.{leaf}"


def dynamic_input(found: Quantised, module: Module, leaf: str) -> bool:
    """Input scales of block FP8 are the business of activation-scheme."""
    return found.scheme is not None and found.scheme.method == "fp8" and leaf in KINDRED[INPUT]


CHECK = Check("HR254", "orphan-scale", "scale that belongs to nothing", run)
