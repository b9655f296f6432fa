"""NVFP4 projections that runtimes put into one matrix have different global scales.

Why it matters: A runtime takes one global scale for the whole matrix (vLLM the largest, with a warning) and reads the others wrong.
Mend: Quantise the projections of a set with one global scale, from the largest value over all of them.
Source: vLLM 0.32.0 schemes/compressed_tensors_w4a4_nvfp4.py and modelopt.py; formats of llm-compressor 0.14.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, fused_groups, gathered
from hubrelease.quantisation.layout import GLOBAL
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file, leaf, parents in gathered(differing(found)):
            message = f"{few(parents)}: the projections that are fused there differ in {leaf}"
            mend = "quantise the projections of a set with one global scale"
            yield CHECK.problem(Where(file, tensor=parents[0]), message, mend, "warning")


def differing(found: Quantised) -> Iterator[tuple[str, str, str]]:
    scales = {
        s.module: s
        for s in found.scales
        if s.part is not None and s.part.role == GLOBAL and found.layouts[s.module].number == "float" and not s.reading.not_finite
    }
    for parent, names in fused_groups(scales):
        if len({scales[name].reading.scalar for name in names}) > 1:
            first = scales[names[0]]
            yield first.located.file, first.part.leaf if first.part else "", parent


CHECK = Check("HR263", "fused-scales-differ", "fused projections with different global scales", run)
