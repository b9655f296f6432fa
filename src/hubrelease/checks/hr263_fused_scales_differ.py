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
from hubrelease.quantisation.values import not_finite, read_all
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file, leaf, parents in gathered(differing(found)):
            message = f"{few(parents)}: the projections that are fused there differ in {leaf}"
            mend = "quantise the projections of a set with one global scale"
            yield CHECK.problem(Where(file, tensor=parents[0]), message, mend, "warning")


def differing(found: Quantised) -> Iterator[tuple[str, str, str]]:
    rows = {located.tensor.name: (name, part) for name, _, part, located in found.tensors(GLOBAL) if found.layouts[name].number == "float"}
    tensors = ((t.tensor.name, t) for _, _, _, t in found.tensors(GLOBAL) if t.tensor.name in rows)
    values = {rows[tensor][0]: (data, located.file) for tensor, located, data in read_all(found.release, tensors)}
    leaves = {name: part.leaf for name, part in rows.values()}
    finite = {name: value for name, value in values.items() if not not_finite("F32", value[0])}
    for parent, names in fused_groups(finite):
        if len({values[name][0] for name in names}) > 1:
            yield values[names[0]][1], leaves[names[0]], parent


CHECK = Check("HR263", "fused-scales-differ", "fused projections with different global scales", run)
