"""The layer map of a MIXED_PRECISION release is empty, malformed, or names layers that are not there.

Why it matters: Readers refuse an empty map, and a key that matches nothing leaves the layer that was meant unquantised.
Mend: Write the map from the modules that are quantised, one key each.
Source: vLLM 0.32.0 layers/quantization/modelopt.py ModelOptMixedPrecisionConfig; ModelOpt 0.47.0 export/quant_utils.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import few
from hubrelease.quantisation.rules import ancestors
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        scheme, applied = found.scheme, found.declaration
        for fault in scheme.faults if scheme else ():
            if fault.kind == CHECK.kind and scheme:
                yield CHECK.problem(Where(scheme.file, pointer=fault.pointer), fault.message, fault.mend, fault.severity)
        if scheme is None or scheme.layers is None or applied is None or not found.complete:
            continue
        used = set(applied.keys.values())
        unused = [key for key in scheme.layers if key not in used and next(ancestors(key), "") in found.parents]
        if unused:
            message = f"names {len(unused)} layers that the weights do not have: {few(sorted(unused))}"
            where = Where(scheme.file, pointer=f"{scheme.pointer}/quantized_layers")
            yield CHECK.problem(where, message, "write the map from the modules that are quantised")


CHECK = Check("HR272", "quantized-layers", "layer map that does not fit the weights", run)
