"""NVFP4 weights and activations (compressed-tensors' NVFP4): nvfp4a16 with an activation scale for each module.

Weights are nvfp4a16's, bit for bit. `input_global_scale` is f32(2688 / amax), amax being the largest |activation| that
calibration met: one division, rounded once, so that a divisor or a ModelOpt multiplier turned into an amax in binary64
comes back unchanged. (compressed-tensors' own calibration in a BF16 model rounds it through BF16 as it does weights'.)
"""

from __future__ import annotations

from hubrelease.formats import nvfp4a16
from hubrelease.formats._compressed_tensors import block
from hubrelease.formats._format import Format, Part, positive, scalar
from hubrelease.formats._nvfp4 import MOST


def parts(rows: int, columns: int, dtype: str) -> tuple[Part, ...]:
    return (*nvfp4a16.parts(rows, columns, dtype), Part(".input_global_scale", "F32", (1,)))


def constants(shared_amax: float | None, input_amax: float | None, shape: tuple[int, int], dtype: str) -> dict[str, bytes]:
    weights = nvfp4a16.constants(shared_amax, None, shape, dtype)
    return {**weights, ".input_global_scale": scalar(MOST / positive(input_amax))}


FORMAT = Format(
    name="nvfp4",
    sentence="NVFP4 weights and activations (4-bit E2M1, an FP8 scale for every 16); the activations' global scales were calibrated.",
    arithmetic="compressed-tensors 0.20.1 (NVFP4, min-max)",
    readers="transformers with compressed-tensors, vLLM",
    kernel_name="nvfp4_divisor",
    parts=parts,
    config_block=block("NVFP4"),
    needs_inputs=True,
    constants=constants,
)
