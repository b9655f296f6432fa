"""A weight file, or an archive, is shorter than it says itself.

safetensors and GGUF files by their headers, zip archives (torch.save, .npz, .keras) by their missing directory.

Why it matters: nobody can load it; most loaders say `incomplete metadata` or `header too large`.
Mend: Copy or download the file again, and compare its size with the source's.
Source: PersuGPT/PersuGPT.github.io issue 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.container_faults import from_containers
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.telling import few

MEND = "copy or fetch the file again"
CONTAINERS = from_containers("HR235", "truncated", "truncated file", MEND)


def run(release: Release) -> Iterator[Problem]:
    yield from CONTAINERS.run(release)
    cut = (path for path, found in release.pickles.items() if found.cut and not path.endswith(".safetensors"))
    yield from few(CHECK.problem(path, "is a zip archive without its end, so it is not whole", MEND) for path in cut)


CHECK = Check("HR235", "truncated", "truncated file", run)
