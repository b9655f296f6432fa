"""The width of a weight is no multiple of its group size.

Why it matters: FP4 kernels read whole groups only (vLLM refuses such a width); with integers a last, shorter group is a matter of luck.
Mend: Leave the module unquantised, or choose a group size that divides its width.
Source: vLLM 0.32.0 layers/quantization/modelopt.py; compressed-tensors 0.20.1 quantization/utils/helpers.py.

An error for NVFP4 and the MX formats. Integer groups are a warning: some kernels take a shorter last group.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for severity in ("error", "warning"):
            for file, message, names in gathered(row for grade, *row in faults(found) if grade == severity):  # type: ignore[misc]
                mend = "leave the module unquantised, or choose a group size that divides its width"
                yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", mend, severity)


def faults(found: Quantised) -> Iterator[tuple[str, str, str, str]]:
    for name, layout in found.layouts.items():
        codes = found.quantised[name].get(layout.codes)
        if codes is None or layout.group is None or len(codes.tensor.shape) < 2 or codes.tensor.dtype not in layout.codes.dtypes:
            continue
        width = layout.logical(codes.tensor.shape)[-1]
        if width % layout.group and (layout.whole_groups or 32 % layout.bits == 0):
            message = f"{width} columns are no multiple of the group size {layout.group}"
            yield "error" if layout.whole_groups else "warning", codes.file, message, codes.tensor.name


CHECK = Check("HR267", "group-size", "width that groups do not divide", run)
