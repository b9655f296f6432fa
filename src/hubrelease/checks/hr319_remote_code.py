"""The release brings code that its configs make a loader run, or names code of another repository.

Why it matters: who loads it with trust_remote_code runs that code with all rights of the process; code of another repository
changes there at any time.
Mend: Use a class that the library knows; where the code is needed, say why under weights.remote_code in release.yaml.
Source: huggingface/transformers dynamic_module_utils.py (5.24.0); noonghunna/club-3090 issue 319.

A warning, and none where the spec declares the code.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.remote_code import declared, reached, references

MEND = "use a class that the library knows, or give the reason under weights.remote_code"


def run(release: Release) -> Iterator[Problem]:
    if declared(release):
        return
    for path, why in sorted(reached(release).items()):
        yield CHECK.problem(path, f"is code that loaders run: {why}", MEND, severity="warning")
    for repository in sorted({r.repository for r in references(release) if r.repository}):
        found = next(r for r in references(release) if r.repository == repository)
        message = f"makes loaders run code of the repository {repository[:100]}, in whatever state it is then ({found.said[:100]})"
        yield CHECK.problem(Where(found.file, pointer=found.pointer), message, MEND, severity="warning")


CHECK = Check("HR319", "remote-code", "code that loaders run", run)
