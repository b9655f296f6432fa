"""A second set of the same weights lies beside the one that the index, or model.safetensors, gives to loaders.

A set is one that holds the matrices of half of the modules; Mistral's consolidated files name them otherwise and are known by
their size. Variants that diffusers picks by name are not told of.

Why it matters: downloads double, and loaders that glob *.safetensors mix the two sets.
Mend: Leave one set out, or declare it under weights.auxiliary with its purpose.
Source: Blaizzy/mlx-vlm PR 1464; FlashML-org/FreeToken PR 336; sgl-project/sglang PR 35107.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import WeightSet
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.strays import Stray, declared, is_same_model, single_beside, strays
from hubrelease.telling import counted, few

MEND = "leave one of the two sets out, or declare it under weights.auxiliary with its purpose"


def run(release: Release) -> Iterator[Problem]:
    yield from few(stray_problem(stray) for stray in strays(release) if stray.duplicate)
    for weights in release.containers.indexed_sets.values():
        yield from single_problems(release, weights)


def stray_problem(stray: Stray) -> Problem:
    first = stray.files[0]
    what = f"and {counted(len(stray.files) - 1, 'more file')} are" if len(stray.files) > 1 else "is"
    used = f"the one that {stray.set.index.file} names" if stray.set.index else stray.set.files[0]
    message = f"{what} a second set of the weights ({counted(stray.tensors, 'tensor')}) beside {used}"
    return CHECK.problem(first, message, MEND, severity="warning")


def single_problems(release: Release, weights: WeightSet) -> Iterator[Problem]:
    """model.safetensors beside an index that names other files: transformers takes the one, vLLM the others."""
    single = single_beside(release, weights)
    if single and single not in declared(release) and is_same_model(release, single, weights):
        files = counted(len(weights.files), "file")
        message = f"is a second set of the weights: transformers loads it, vLLM the {files} that the index names"
        yield CHECK.problem(single, message, MEND, severity="warning")


CHECK = Check("HR232", "duplicate-weight-set", "second set of the same weights", run)
