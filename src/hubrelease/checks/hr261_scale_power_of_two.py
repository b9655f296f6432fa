"""scale_fmt is ue8m0, but some scale is no power of two.

Why it matters: Kernels that read UE8M0 keep the exponent alone: such a block is then off by up to a factor of two.
Mend: Quantise again with scales rounded up to powers of two, or drop scale_fmt.
Source: transformers 5.24.0 integrations/finegrained_fp8.py; vLLM 0.32.0 layers/quantization/fp8.py.

A warning: vLLM quantises such weights once more on the GPUs where it matters.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import few, gathered
from hubrelease.quantisation.layout import SCALE
from hubrelease.quantisation.values import powers_of_two, read_all
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.scheme is None or found.scheme.block.get("scale_fmt") != "ue8m0":
            continue
        rows = []
        scales = ((s.name, s.located) for s in found.scales if s.part is not None and s.part.role == SCALE)
        for name, located, data in read_all(release, scales):
            if not powers_of_two(located.tensor.dtype, data):
                rows.append((located.file, "", name))
        for file, _, names in gathered(rows):
            message = f"{few(names)}: holds values that are no powers of two, though scale_fmt is ue8m0"
            yield CHECK.problem(Where(file, tensor=names[0]), message, "round the scales up to powers of two and quantise again", "warning")


CHECK = Check("HR261", "scale-power-of-two", "UE8M0 scale that is no power of two", run)
