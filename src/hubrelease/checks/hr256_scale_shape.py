"""A scale of a quantised module has a shape that does not fit the weight and the declared block, group or channel.

Why it matters: Readers stop, or spread the scales over other blocks and compute with wrong weights. Rounding the number of
blocks down, and taking the packed width for the real one, are the usual causes.
Mend: Compute the scales again from the logical shape of the weight, rounding the number of blocks up.
Source: vllm-project/compressed-tensors PR 547; NVIDIA/TensorRT-Model-Connect PR 1115; NVIDIA/Model-Optimizer PR 2038.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import few, gathered
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        faults = [fault for fault in found.part_faults if fault.kind == CHECK.kind]
        rows = ((f.located.file if f.located else f.module.file, f.message, f"{f.module.name}.{f.part.leaf}") for f in faults)
        for file, message, names in gathered(rows):
            yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", MEND)


MEND = "compute the scales again from the logical shape of the weight, with the number of blocks rounded up"
CHECK = Check("HR256", "scale-shape", "shape of a scale does not fit", run)
