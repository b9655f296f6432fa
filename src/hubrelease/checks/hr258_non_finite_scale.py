"""A scale is NaN or infinite, or holds E4M3's NaN code.

Why it matters: Every weight under such a scale becomes NaN, and so does every answer of the model.
Mend: Convert the module again; look for an all-zero or overflowing block in its source.
Source: vllm-project/compressed-tensors issue 832.

Scales are read by default (very large ones up to 256 MiB in all); with --deep all of them, and the codes of E4M3 weights.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Located
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised
from hubrelease.quantisation.modules import KV_LEAVES, SCALE_LEAVES, Module
from hubrelease.quantisation.values import not_finite, read_all
from hubrelease.release import Release

MEND = "convert the module again from its source"
SCALES = SCALE_LEAVES | KV_LEAVES | {"scale", "scales", "weight_scales", "biases", "SCB", "weight.absmax", "_weight_scale"}
MAX_TOLD = 20  # tensors told one by one


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        told = 0
        for name, located, data in read_all(release, scales(found)):
            if count := not_finite(dtype_of(found, name, located), data):
                told += 1
                if told <= MAX_TOLD:
                    message = f"{count} of {located.tensor.elements} values are NaN or infinite"
                    yield CHECK.problem(Where(located.file, tensor=name), message, MEND)
        if told > MAX_TOLD:
            message = f"{told - MAX_TOLD} more scales hold values that are NaN or infinite"
            yield CHECK.problem(found.weights.files[0], message, MEND)


def scales(found: Quantised) -> Iterator[tuple[str, Located]]:
    for module in found.modules.values():
        for leaf, located in module.parts.items():
            if leaf in SCALES and not (leaf == "scale" and module.codes is None):
                yield located.tensor.name, located
        if found.release.deep:
            yield from weights(module)


def weights(module: Module) -> Iterator[tuple[str, Located]]:
    codes = module.codes
    if codes is not None and codes.tensor.dtype.startswith("F8_"):
        yield codes.tensor.name, codes


def dtype_of(found: Quantised, name: str, located: Located) -> str:
    """U8 scales of MX formats are exponents, with NaN at 0xFF; other bytes are just bytes."""
    layout = found.layouts.get(name.rpartition(".")[0])
    exponents = layout is not None and any(p.value == "exponent" and p.leaf == name.rpartition(".")[2] for p in layout.parts)
    return "F8_E8M0" if located.tensor.dtype == "U8" and exponents else located.tensor.dtype


CHECK = Check("HR258", "non-finite-scale", "scale that is NaN or infinite", run)
