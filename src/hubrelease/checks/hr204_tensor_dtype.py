"""A tensor of a quantised module has another dtype than the declared format says.

Why it matters: A runtime that trusts config.json reads such bytes as other numbers, with no error.
Mend: Convert the module again in the declared format, or name the format that the tensors are in.
Source: formats of compressed-tensors 0.20.1, transformers 5.24.0 and ModelOpt 0.47.0, as their own checkpoints show them.
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


MEND = "convert the module again in the declared format, or declare the format that the tensors are in"
CHECK = Check("HR204", "tensor-dtype", "wrong dtype of a quantised tensor", run)
