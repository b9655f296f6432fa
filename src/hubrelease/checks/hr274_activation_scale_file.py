"""A separate file of activation scales holds something else as well, or scales of modules that are not there.

Why it matters: Such a file is replaced on its own when a model is calibrated again; what else lies in it changes with it.
Mend: Keep only the input scales in that file, one for each quantised weight, and name it in the index.
Source: formats of ModelOpt 0.47.0; ml-explore/mlx-swift-lm PRs 408 and 562.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Container
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few
from hubrelease.quantisation.layout import INPUT
from hubrelease.quantisation.part_faults import KINDRED
from hubrelease.release import Release

MEND = "keep only the input scales in that file, one for each quantised weight"


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file in found.weights.files if found.scheme else ():
            container = release.containers.all.get(file)
            if container is not None and container.header is not None and len(found.weights.files) > 1:
                yield from problems(found, container)


def problems(found: Quantised, container: Container) -> Iterator[Problem]:
    names = [t.name for t in container.header.tensors] if container.header else []
    scales = [name for name in names if name.rpartition(".")[2] in KINDRED[INPUT]]
    if not scales or len(scales) < 0.9 * len(names):
        return
    if others := sorted(set(names).difference(scales)):
        message = f"holds {len(scales)} input scales and, beside them, {few(others)}"
        yield CHECK.problem(Where(container.file, tensor=others[0]), message, MEND, "warning")
    if found.complete and (strays := [name for name in scales if name.rpartition(".")[0] not in found.quantised]):
        message = f"holds scales of modules that are not quantised: {few(strays)}"
        yield CHECK.problem(Where(container.file, tensor=strays[0]), message, MEND, "warning")


CHECK = Check("HR274", "activation-scale-file", "file of activation scales with something else in it", run)
