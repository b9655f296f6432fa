"""A file is the small pointer that git-lfs leaves in place of the file itself.

Undecided where the provenance lists the file that the pointer stands for: then the release is good and its copy here is not whole.

Why it matters: Loaders only say `header too large`; the weights are not there.
Mend: Run git lfs pull.
Source: microsoft/OmniParser issue 34; codefuse-ai/MFTCoder issue 20; ProcessPainter issue 4 (an adapter_config.json).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check, from_files
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.telling import few
from hubrelease.verify_release import lfs_pointer

POINTER_BYTES = 1024  # a pointer is shorter
LISTED = from_files("HR220", "lfs-pointer", "git-lfs pointer")


def run(release: Release) -> Iterator[Problem]:
    yield from LISTED.run(release)
    told = {found.file for found in release.result.findings if found.kind == "lfs-pointer"}
    small = (path for path, entry in release.result.entries.items() if entry.kind == "file" and entry.size < POINTER_BYTES)
    yield from few(problem for path in sorted(small) if path not in told for problem in pointer_problems(release, path))


def pointer_problems(release: Release, path: str) -> Iterator[Problem]:
    pointer = lfs_pointer(release.read(path, POINTER_BYTES) or b"")
    if pointer:
        yield CHECK.problem(path, f"is a git-lfs pointer, {pointer[1]} bytes promised", "run git lfs pull before building the release")


CHECK = Check("HR220", "lfs-pointer", "git-lfs pointer", run, waivable=False)
