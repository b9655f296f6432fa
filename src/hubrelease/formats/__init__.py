"""The formats that weights are converted to, one file each; the folder is the list.

    form = named("nvfp4a16", {})             a Format with its options settled; formats() gives them all
    form.refusal(module, dtype, shape)       why a weight can't be quantised, or None
    form.parts(rows, columns, dtype)         the tensors that a module stores, in file order: Part(suffix, dtype, shape, role)
    encoder = form.encoder("cpu")            one for each thread; a path may be named, `paths("cpu")` tells which there are
    amax = encoder.amax(strip)               only where form.needs_shared_amax: the largest over a weight's strips, and over
                                             its siblings in form.fused
    done = encoder.encode(strip, amax)       Encoded: bytes of this strip's codes and scales, and Sums of what rounding did
    encoder.constants(amax, input_amax, shape, dtype)    {suffix: bytes} of the other parts
    form.config_block(quantised, excluded)   quantization_config, None where there is none; form.hf_quant_config likewise

A strip is whole rows, form.strip_rows of them or a multiple (the last may be short where the format allows it). Codes and
scales of a weight's strips, one after the other, are the bytes of its parts with the roles "codes" and "scales". Encoded
memory is the encoder's own: it stays as it is until the encoder's next call. Sums add up with `+`, exactly.

NotFinite tells of NaN or infinity in a strip and where; PathMissing of a path that this machine or format does not have.
Every path gives the same bits. Each module's docstring has its rounding rules, step by step.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from hubrelease.arithmetic.paths import paths
from hubrelease.arithmetic.values import NOTHING, Encoded, NotFinite, PathMissing, Strip, Sums
from hubrelease.formats._format import CODES, SCALES, Encoder, Format, Part


@cache
def formats() -> tuple[Format, ...]:
    """Every format, with its options' defaults, in order of name."""
    from hubrelease import family
    from hubrelease import formats as folder

    return tuple(cast("Format", member) for member in family.members(folder, "FORMAT"))


def named(name: str, options: Mapping[str, Any] | None = None) -> Format:
    """The format of that name. Raises KeyError if there is none, ValueError for an option that it does not have."""
    found = {form.name: form for form in formats()}[name]
    return found.configured(options or {})


__all__ = [
    "CODES",
    "NOTHING",
    "SCALES",
    "Encoded",
    "Encoder",
    "Format",
    "NotFinite",
    "Part",
    "PathMissing",
    "Strip",
    "Sums",
    "formats",
    "named",
    "paths",
]
