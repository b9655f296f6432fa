"""Activation scales from a file: safetensors in either convention, or JSON {module: amax}; each format derives its own.

`<module>.input_scale` is ModelOpt's multiplier, amax / 2688 (amax / 448 for FP8); `<module>.input_global_scale` is
compressed-tensors' divisor, 2688 / amax (formats.md D.3, E.3). Everything is brought back to one number, the amax.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from hubrelease import weights
from hubrelease.errors import CheckFailed, Problem, problem
from hubrelease.verify_release import strict_json

NVFP4_RANGE = 2688.0  # 448 · 6: the largest value that a group scale times an E2M1 code reaches
MULTIPLIER, DIVISOR = ".input_scale", ".input_global_scale"
MEND = "give <module>.input_scale or <module>.input_global_scale (safetensors), or JSON {module: amax}"


def amaxes(name: str, data: bytes, modules: Iterable[str]) -> dict[str, float]:
    """{module: amax of its activations} for every module of `modules`. CheckFailed for what is absent or not positive."""
    found = dict(of_safetensors(name, data) if name.endswith(".safetensors") else of_json(name, data))
    wanted = list(modules)
    problems = [fault(name, f"{m} has no activation scale") for m in wanted if m not in found]
    problems += [
        fault(name, f"{m} has the amax {v}, which is no positive number") for m, v in found.items() if not (math.isfinite(v) and v > 0)
    ]
    problems += [fault(name, f"{m} is not quantised") for m in sorted(set(found) - set(wanted))[:20]]
    if problems:
        raise CheckFailed(problems)
    return {module: found[module] for module in wanted}


def fault(name: str, message: str) -> Problem:
    return problem("weights-unusable", name, message, MEND)


def of_json(name: str, data: bytes) -> Iterator[tuple[str, float]]:
    try:
        value: Any = strict_json(data)
    except ValueError as error:
        raise CheckFailed(fault(name, f"is not JSON: {error}")) from None
    if not isinstance(value, dict):
        raise CheckFailed(fault(name, "is not a JSON object"))
    for module, amax in value.items():
        yield module, float(amax) if isinstance(amax, (int, float)) and not isinstance(amax, bool) else math.nan


def of_safetensors(name: str, data: bytes) -> Iterator[tuple[str, float]]:
    try:
        length = weights.header_length(data[:8], len(data))
        header, faults = weights.parse_header(data[8 : 8 + length], len(data))
    except weights.ContainerFault as error:
        header, faults = None, list(error.faults)
    if header is None or faults:
        raise CheckFailed([fault(name, f.message) for f in faults])
    for tensor in header.tensors:
        if tensor.dtype != "F32" or tensor.elements != 1 or not tensor.name.endswith((MULTIPLIER, DIVISOR)):
            raise CheckFailed(fault(name, f"{tensor.name} ({tensor.dtype} {list(tensor.shape)}) is no activation scale"))
        (value,) = struct.unpack("<f", data[header.data_start + tensor.begin : header.data_start + tensor.end])
        if tensor.name.endswith(MULTIPLIER):
            yield tensor.name.removesuffix(MULTIPLIER), value * NVFP4_RANGE
        else:
            yield tensor.name.removesuffix(DIVISOR), NVFP4_RANGE / value if value else math.nan
