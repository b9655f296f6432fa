"""A scale, or the codes, of a quantised module are stored under the name that another format uses.

Why it matters: A loader knows one name; under another it finds no scale, stops with a KeyError or uses 1.0.
Mend: Rename the tensors as the declared format has them, or declare the format that the names belong to.
Source: vllm-project/vllm PR 54556 and issue 54126 (weight_scale and weight_scale_inv).
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


MEND = "rename the tensors, or declare the format that the names belong to"
CHECK = Check("HR255", "scale-name", "tensor under another format's name", run)
