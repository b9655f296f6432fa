"""Packed integer weights are asymmetric.

Why it matters: transformers 5.24 with compressed-tensors 0.20 saves such a checkpoint and can't load it again: the stored zero
points are packed, and the loader expects them unpacked. vLLM reads them.
Mend: Quantise symmetrically, or say in the card which readers take the release.
Source: transformers 5.24.0 with compressed-tensors 0.20.1, W4A16_ASYM saved and loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for fault in found.scheme.faults if found.scheme else ():
            if fault.kind == CHECK.kind:
                where = Where(found.scheme.file if found.scheme else found.config_file, pointer=fault.pointer)
                yield CHECK.problem(where, fault.message, fault.mend, fault.severity)


CHECK = Check("HR268", "asymmetric-int", "asymmetric integers in packed form", run)
