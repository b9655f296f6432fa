"""A scale of a float format is negative, or a global or input scale is zero.

Why it matters: Readers divide by global and input scales; kernels take block scales as unsigned.
Mend: Convert the module again; an all-zero weight needs a scale of its own choice, not zero.
Source: ModelOpt 0.47.0 quantization/qtensor/nvfp4_tensor.py; vLLM 0.32.0 schemes/compressed_tensors_w4a4_nvfp4.py.

Integer formats are left out: GPTQ and AutoRound store negative scales on purpose. Zero block scales of zero blocks are usual.
E4M3 block scales are looked at with --deep only.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.layout import GLOBAL, INPUT, SCALE
from hubrelease.quantisation.values import negative, read_all, zeros
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file, message, names in gathered(faults(found)):
            yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", "convert the module again from its source")


def faults(found: Quantised) -> Iterator[tuple[str, str, str]]:
    roles = {}
    for name, _, part, located in found.tensors(SCALE, GLOBAL, INPUT):
        if found.layouts[name].number == "float" and (located.tensor.dtype in ("F32", "BF16", "F16") or found.release.deep):
            roles[located.tensor.name] = (part.role, located)
    for name, located, data in read_all(found.release, ((name, located) for name, (_, located) in roles.items())):
        if count := negative(located.tensor.dtype, data):
            yield located.file, f"{count} of {located.tensor.elements} values are negative", name
        elif roles[name][0] != SCALE and zeros(located.tensor.dtype, data):
            yield located.file, f"the {roles[name][0]} is zero", name


CHECK = Check("HR259", "scale-not-positive", "scale that is negative or zero", run)
