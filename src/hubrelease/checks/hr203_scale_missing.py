"""A quantised module lacks a tensor that its format needs: a scale, a global or input scale, a zero point, a shape.

Why it matters: A server stops with a KeyError when it comes to that layer; vLLM's expert layers go on with a scale of 1 or with garbage.
Mend: Convert or export the module again; take the tensor over from the tool's output if a later step dropped it.
Source: sgl-project/sglang issue 3604; vllm-project/llm-compressor issue 959; vLLM 0.32.0 modelopt.py ModelOptNvFp4FusedMoE.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.modules import SCALE_LEAVES
from hubrelease.quantisation.part_faults import PartFault
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.complete:  # of a set with absent shards nothing can be said to be missing
            faults = [fault for fault in found.part_faults if fault.kind == CHECK.kind]
            for file, message, names in gathered((f.module.file, elsewhere(found, f), f"{f.module.name}.{f.part.leaf}") for f in faults):
                total = len(found.layouts)
                text = f"{few(names)}: {message} ({len(names)} of {total} quantised modules)"
                yield CHECK.problem(Where(file, tensor=names[0]), text, MEND)
            for file, message, names in gathered([*stacked(found), *without_codes(found)]):
                yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", MEND)


def stacked(found: Quantised) -> Iterator[tuple[str, str, str]]:
    """Stacked experts with no scale of any name."""
    known = found.scheme is not None and (found.scheme.thorough or found.scheme.method == "mxfp4")
    for name, module in found.quantised.items() if known else ():
        if module.stacked and module.codes and not any("scale" in leaf for leaf in module.parts):
            yield module.file, "quantised experts without any scale", name


def without_codes(found: Quantised) -> Iterator[tuple[str, str, str]]:
    """Modules of which only the scales are there."""
    for name, module in found.modules.items() if found.scheme and found.scheme.thorough else ():
        if not module.stacked and module.codes is None and "weight" not in module.parts and module.parts.keys() & WEIGHT_SCALES:
            yield module.file, "scales are there, the weight is missing", name


def elsewhere(found: Quantised, fault: PartFault) -> str:
    """What is missing, and which file outside the weight set has it."""
    name = f"{fault.module.name}.{fault.part.leaf}"
    holder = next((path for path, names in found.outside.items() if name in names), None)
    hint = f"; {holder} has it, but no loader opens that file, since the index does not name it" if holder else ""
    return f"the {fault.part.role} is missing{hint}"


WEIGHT_SCALES = frozenset(leaf for leaf in SCALE_LEAVES if leaf.startswith("weight_"))
MEND = "convert the module again, or take the tensor over from the tool's output"
CHECK = Check("HR203", "scale-missing", "missing scale of a quantised module", run)
