"""A config names code (auto_map) that is not in the release, or shipped code imports a file that is not.

Why it matters: loading with trust_remote_code fails, and without it the class is unknown.
Mend: Copy the Python files from the pinned base, all that they import relatively included, or take auto_map out.
Source: intel/auto-round issue 725; NVIDIA/Model-Optimizer PR 2060.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.remote_code import imports, is_inside, reached, references

MEND = "copy the file from the pinned base, or take the reference out"


def run(release: Release) -> Iterator[Problem]:
    told: set[tuple[str, str]] = set()
    for found in references(release):
        absent = found.path not in release.files and found.path not in release.missing
        if found.repository is None and absent and is_inside(found.path) and (found.file, found.path) not in told:
            told.add((found.file, found.path))
            message = f"names {found.said}, and {found.path} is not in the release"
            yield CHECK.problem(Where(found.file, pointer=found.pointer), message, MEND)
    for path in reached(release):
        for wanted in imports(release, path):
            if wanted not in release.files and wanted not in release.missing and is_inside(wanted):
                yield CHECK.problem(path, f"imports {wanted}, which is not in the release", MEND)


CHECK = Check("HR318", "remote-code-missing", "code that was not copied", run)
