"""A scale is NaN or infinite, or holds E4M3's NaN code.

Why it matters: Every weight under such a scale becomes NaN, and so does every answer of the model.
Mend: Convert the module again; look for an all-zero or overflowing block in its source.
Source: vllm-project/compressed-tensors issue 832.

Scales are read by default (very large ones up to 256 MiB in all); with --deep all of them, and the codes of E4M3 weights.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Located
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised
from hubrelease.quantisation.values import not_finite, read_all
from hubrelease.release import Release

MEND = "convert the module again from its source"
MAX_TOLD = 20  # tensors told one by one


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        rows = [*bad_scales(found), *(bad_weights(found) if release.deep else ())]
        for located, count in rows[:MAX_TOLD]:
            message = f"{count} of {located.tensor.elements} values are NaN or infinite"
            yield CHECK.problem(Where(located.file, tensor=located.tensor.name), message, MEND)
        if len(rows) > MAX_TOLD:
            message = f"{len(rows) - MAX_TOLD} more tensors hold values that are NaN or infinite"
            yield CHECK.problem(rows[MAX_TOLD][0].file, message, MEND)


def bad_scales(found: Quantised) -> Iterator[tuple[Located, int]]:
    return ((scale.located, scale.reading.not_finite) for scale in found.scales if scale.reading.not_finite)


def bad_weights(found: Quantised) -> Iterator[tuple[Located, int]]:
    codes = (module.codes for module in found.quantised.values())
    rows = [(c.tensor.name, c) for c in codes if c is not None and c.tensor.dtype.startswith("F8_")]
    for _, located, data in read_all(found.release, rows):
        if count := not_finite(located.tensor.dtype, data):
            yield located, count


CHECK = Check("HR258", "non-finite-scale", "scale that is NaN or infinite", run)
