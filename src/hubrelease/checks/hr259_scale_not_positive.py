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
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file, message, names in gathered(faults(found)):
            yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", "convert the module again from its source")


def faults(found: Quantised) -> Iterator[tuple[str, str, str]]:
    for scale in found.scales:
        part, reading, dtype = scale.part, scale.reading, scale.located.tensor.dtype
        if part is None or part.role not in (SCALE, GLOBAL, INPUT) or found.layouts[scale.module].number != "float":
            continue
        if reading.negative and (dtype in ("F32", "BF16", "F16") or found.release.deep):
            yield scale.located.file, f"{reading.negative} of {scale.located.tensor.elements} values are negative", scale.name
        elif part.role != SCALE and reading.zero:
            yield scale.located.file, f"the {part.role} is zero", scale.name


CHECK = Check("HR259", "scale-not-positive", "scale that is negative or zero", run)
