"""A scale is stored the other way round: a divisor where the format multiplies, or a multiplier where it divides.

Why it matters: Dequantised weights come out larger by a factor of millions: NaN or noise, with no error from any reader.
Mend: Store the reciprocal; round-trip one block against the source to be sure.
Source: modular/modular issue 6600 and PR 6699; intel/auto-round PR 2362.

Found by the range that the stored scales give: weights above 10,000 are absurd, and plausible again with the reciprocal.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, Scale, few, gathered
from hubrelease.quantisation.layout import GLOBAL, INPUT, SCALE
from hubrelease.release import Release

ABSURD_WEIGHT, ABSURD_INPUT = 1e4, 2e5
MEND = "store the reciprocal, and compare one dequantised block with the source"


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file, message, names in gathered([*weights(found), *inputs(found)]):
            yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", MEND)


def weights(found: Quantised) -> Iterator[tuple[str, str, str]]:
    """Modules whose largest dequantised weight is absurd."""
    factors = {scale.module: scale for scale in of_role(found, GLOBAL)}
    for scale in of_role(found, SCALE):
        layout, second, top = found.layouts[scale.module], factors.get(scale.module), scale.reading.largest
        factor = applied(second) if second else 1.0
        if scale.part is None or scale.part.value == "exponent" or layout.number == "any" or top <= 0 or factor <= 0:
            continue
        value = layout.largest * top * factor
        other = layout.largest * (top / factor if second else 1.0 / top)
        if value > ABSURD_WEIGHT > other * 10:
            culprit = second or scale
            how = culprit.part.value if culprit.part else "multiplier"
            message = f"taken as a {how}, it makes weights of up to {value:.3g}; its reciprocal gives {other:.3g}"
            yield culprit.located.file, message, culprit.name


def applied(scale: Scale) -> float:
    """The factor that a global or input scale stands for; 0.0 where it has no value."""
    value = scale.reading.largest
    return 1.0 / value if value > 0 and scale.part is not None and scale.part.value == "divisor" else value


def inputs(found: Quantised) -> Iterator[tuple[str, str, str]]:
    """Input scales of NVFP4, where most modules would need activations that no model has."""
    scales = [s for s in of_role(found, INPUT) if found.layouts[s.module].bits == 4 and s.reading.largest > 0]
    absurd = [scale for scale in scales if 2688.0 * applied(scale) > ABSURD_INPUT]
    if 2 * len(absurd) > len(scales):
        for scale in absurd:
            how = scale.part.value if scale.part else "multiplier"
            message = f"taken as a {how}, it stands for activations of up to {2688.0 * applied(scale):.3g}"
            yield scale.located.file, message, scale.name


def of_role(found: Quantised, role: str) -> Iterator[Scale]:
    return (scale for scale in found.scales if scale.part is not None and scale.part.role == role)


CHECK = Check("HR260", "scale-convention", "scale stored the other way round", run)
