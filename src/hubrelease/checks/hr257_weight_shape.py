"""`weight_shape` of a packed integer weight is not the shape that its codes and scales have.

Why it matters: Readers unpack to the stored shape: a wrong one gives a weight of other width, or stops the load.
Mend: Pack the module again from its source.
Source: compressed-tensors 0.20.1 compressors/pack_quantized.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.layout import SHAPE
from hubrelease.quantisation.values import read_all
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for file, message, names in gathered(faults(found)):
            yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", "pack the module again from its source")


def faults(found: Quantised) -> Iterator[tuple[str, str, str]]:
    rows = []
    for name, layout in found.layouts.items():
        part = layout.part(SHAPE)
        located = found.quantised[name].get(part) if part else None
        if located is not None and located.tensor.elements == 2 and located.tensor.dtype in ("I64", "I32"):
            rows.append((name, located))
    for name, located, data in read_all(found.release, rows):
        layout, codes = found.layouts[name], found.quantised[name].codes
        stated = struct.unpack("<2q" if located.tensor.dtype == "I64" else "<2i", data)
        stored = codes.tensor.shape if codes else ()
        fits = min(stated) > 0 and len(stored) == 2 and layout.stored(stated) == stored
        if not fits:
            yield located.file, f"says {list(stated)}, but the codes are {list(stored)} in words of 32 bits", f"{name}.weight_shape"


CHECK = Check("HR257", "weight-shape", "stored shape that the codes do not have", run)
