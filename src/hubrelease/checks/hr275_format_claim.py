"""release.yaml states a weight format, and the weights are in another.

Why it matters: Card, provenance and downloads say one thing and the bytes another; a figure belongs to one format.
Mend: Build again with the format that is meant, or correct `weights.format`.
Source: contract, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.quantisation.found import Quantised
from hubrelease.quantisation.scheme import mapping, shown
from hubrelease.release import Release

WIDE = ("F16", "F32", "F64")
FORMATS = ("bf16", "fp8_block", "fp8_dynamic", "nvfp4a16", "nvfp4", "modelopt_nvfp4", "w8a16", "w4a16")


def run(release: Release) -> Iterator[Problem]:
    claim = mapping(release.spec.get("weights")).get("format")
    main = next((found for found in release.quantised if found.weights.folder == ""), None)
    if claim not in FORMATS or main is None or not main.complete or not main.weights.tensors:
        return
    if (actual := found_format(main)) != claim:
        message = f"release.yaml states the format {claim}, the weights are {shown(actual)}"
        yield CHECK.problem(main.weights.files[0], message, "build again with the format that is meant, or correct weights.format")


def found_format(main: Quantised) -> str:
    if not main.quantised:
        return unquantised_format(main) if not main.declared_at_all else "not quantised, though config.json declares a quantisation"
    if main.scheme is None:
        return "quantised in a way that config.json does not declare" if not main.declared_at_all else "in a format unknown here"
    return main.scheme.release_format or main.scheme.method


def unquantised_format(main: Quantised) -> str:
    """bf16 where no wider dtype holds more parameters: norms, biases and routers of a BF16 checkpoint may well be F32."""
    held = Counter[str]()
    for located in main.weights.tensors.values():
        held[located.tensor.dtype] += located.tensor.elements
    widest = max(WIDE, key=lambda dtype: held[dtype])
    return f"mostly {widest}" if held[widest] > held["BF16"] else "bf16"


CHECK = Check("HR275", "format-claim", "stated format that the weights do not have", run)
