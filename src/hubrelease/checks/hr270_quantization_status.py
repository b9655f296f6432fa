"""quantization_status is not that of a release: codes are stored, but the status says that they are not, or is no status at all.

Why it matters: transformers unpacks weights only where the status is `compressed`; otherwise packed weights find no place.
Mend: Write `compressed`.
Source: transformers 5.24.0 quantizers/quantizer_compressed_tensors.py; compressed-tensors 0.20.1 quantization/quant_config.py.

`frozen` is left alone where codes lie in `weight`: older llm-compressor releases are like that and load.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        scheme = found.scheme
        if scheme is None or scheme.method != "compressed-tensors":
            continue
        where = Where(scheme.file, pointer=f"{scheme.pointer}/quantization_status")
        for fault in scheme.faults:
            if fault.kind == CHECK.kind:
                yield CHECK.problem(where, fault.message, fault.mend, fault.severity)
        status = scheme.block.get("quantization_status", "compressed")
        packed = any("weight_packed" in module.parts for module in found.quantised.values())
        if (status in ("initialized", "calibration", "decompressed") and found.quantised) or (status == "frozen" and packed):
            yield CHECK.problem(where, f"is {status}, but the weights are stored compressed", "write compressed", "warning")


CHECK = Check("HR270", "quantization-status", "quantisation status that does not fit", run)
