"""A group of a compressed-tensors config, or its arguments, hold a key that compressed-tensors does not know.

Why it matters: Unknown keys are ignored at the top of the block and refused inside a group: older readers fail on what a newer tool wrote.
Mend: Remove the key, or state in the card which version reads the release.
Source: compressed-tensors 0.20.1 quantization/quant_args.py and quant_scheme.py (extra keys are forbidden).
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


CHECK = Check("HR269", "quantization-unknown-key", "unknown key in a quantisation group", run)
