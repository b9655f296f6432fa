"""A scale is stored the other way round: a divisor where the format multiplies, or a multiplier where it divides.

Why it matters: Dequantised weights come out larger by a factor of millions: NaN or noise, with no error from any reader.
Mend: Store the reciprocal; round-trip one block against the source to be sure.
Source: modular/modular issue 6600 and PR 6699; intel/auto-round PR 2362.

Found by the range that the stored scales give: weights above 10,000 are absurd, and plausible again with the reciprocal.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Located
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.layout import GLOBAL, INPUT, SCALE, Part
from hubrelease.quantisation.values import first, largest, not_finite, read_all
from hubrelease.release import Release

ABSURD_WEIGHT, ABSURD_INPUT = 1e4, 2e5
MEND = "store the reciprocal, and compare one dequantised block with the source"


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file, message, names in gathered([*weights(found), *inputs(found)]):
            yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", MEND)


def weights(found: Quantised) -> Iterator[tuple[str, str, str]]:
    """Modules whose largest dequantised weight is absurd."""
    block, factor = tops(found, SCALE), tops(found, GLOBAL)
    for name, (part, located, top) in block.items():
        layout = found.layouts[name]
        if part.value == "exponent" or layout.number == "any" or top <= 0:
            continue
        second = factor.get(name)
        value = layout.largest * top * (applied(second) if second else 1.0)
        other = layout.largest * (top / applied(second) if second and applied(second) else 1.0 / top)
        if value > ABSURD_WEIGHT > other * 10:
            culprit_part, culprit, _ = second or (part, located, top)
            message = f"taken as a {culprit_part.value}, it makes weights of up to {value:.3g}; its reciprocal gives {other:.3g}"
            yield culprit.file, message, f"{name}.{culprit_part.leaf}"


def applied(second: tuple[Part, Located, float] | None) -> float:
    """The factor that a global scale stands for."""
    if second is None or second[2] <= 0:
        return 0.0
    return 1.0 / second[2] if second[0].value == "divisor" else second[2]


def inputs(found: Quantised) -> Iterator[tuple[str, str, str]]:
    """Input scales of NVFP4, where most modules would need activations that no model has."""
    found_inputs = {name: row for name, row in tops(found, INPUT).items() if found.layouts[name].bits == 4 and row[2] > 0}
    absurd = {name: 2688.0 * applied(row) for name, row in found_inputs.items() if 2688.0 * applied(row) > ABSURD_INPUT}
    if 2 * len(absurd) > len(found_inputs):
        for name, value in absurd.items():
            part, located, _ = found_inputs[name]
            yield located.file, f"taken as a {part.value}, it stands for activations of up to {value:.3g}", f"{name}.{part.leaf}"


def tops(found: Quantised, role: str) -> dict[str, tuple[Part, Located, float]]:
    """{module: (part, tensor, largest value)} of the scales of one role."""
    rows = {located.tensor.name: (name, part, located) for name, _, part, located in found.tensors(role)}
    result = {}
    for tensor, located, data in read_all(found.release, ((tensor, row[2]) for tensor, row in rows.items())):
        name, part, _ = rows[tensor]
        dtype = located.tensor.dtype
        if located.tensor.elements != 1 or role == SCALE:
            result[name] = (part, located, largest(dtype, data))
        elif not not_finite(dtype, data):  # NaN is said elsewhere
            result[name] = (part, located, first(dtype, data) or 0.0)
    return result


CHECK = Check("HR260", "scale-convention", "scale stored the other way round", run)
