"""Tensors that the architecture of config.json has are in no file of the weights.

Why it matters: transformers fills what is missing with random numbers and only logs it; other runtimes refuse to load.
Mend: Save the model whole, or correct the config; where the names differ by a prefix only, save them under the right one.
Source: huggingface/transformers issue 45357; sgl-project/sglang PR 32279.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import Expected
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import Comparison, grouped
from hubrelease.models import Model
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for model, found in release.comparisons:
        no_tower = reported_elsewhere(model, found.missing)
        missing = [e for e in found.missing if not (no_tower and e.part == "vision")]
        if len(missing) * 10 > found.wanted * 9 and found.wanted > 10:
            yield wholly_other(model, found, missing)
            continue
        near = {e.name: name for name, e in reversed(found.near.items())}
        for _, first, count in grouped(e.name for e in missing):
            others = f" and {count - 1} more of its kind are missing" if count > 1 else " is missing"
            hint = f"; {near[first]} is there in its place" if first in near else ""
            message = f"{first}{others}: a {found.family.name} model of this config has {found.wanted} tensors{hint}"
            yield CHECK.problem(Where(model.weights_file, tensor=first), message, mend(hint))


def reported_elsewhere(model: Model, missing: tuple[Expected, ...]) -> bool:
    """True where nothing at all is there of the vision tower: one finding of another check."""
    prefix = next((e.prefix for e in missing if e.part == "vision"), None)
    return prefix is not None and not any(name.startswith(prefix) for name in model.names)


def wholly_other(model: Model, found: Comparison, missing: list[Expected]) -> Problem:
    message = f"{len(missing)} of the {found.wanted} tensors of a {found.family.name} model are missing, {missing[0].name} the first"
    if found.near:
        message += f"; {next(iter(found.near))} is there in place of {next(iter(found.near.values())).name}"
    return CHECK.problem(
        Where(model.weights_file, tensor=missing[0].name), message, "correct config.json, or save the weights that it describes"
    )


def mend(hint: str) -> str:
    return "rename the tensors to the names that the architecture has" if hint else "save the model whole, or correct config.json"


CHECK = Check("HR300", "tensor-missing", "missing tensor", run)
