"""A pickle imports something that runs programs, reads or sends files, or loads code; or it computes the name of an import.

The opcodes are read, nothing is unpickled. What is not told of may be harmful all the same: every pickle is a warning (HR245).

Why it matters: whoever loads the file runs it.
Mend: Don't load it. Publish tensors as safetensors.
Source: Python's pickle documentation (a pickle may run any code); huggingface/hub-docs docs/hub/security-pickle.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.telling import named


def run(release: Release) -> Iterator[Problem]:
    for path, found in release.pickles.items():
        if dangerous := found.dangerous:
            message = f"is a {found.family} that imports {named(dangerous, 5)}"
            yield CHECK.problem(path, message, "don't load it; publish tensors as safetensors")


CHECK = Check("HR246", "pickle-import", "pickle with a dangerous import", run)
