"""FP8 with one scale a row (compressed-tensors' FP8_DYNAMIC): E4M3 codes, scales in the weight's dtype.

The bytes are those of compressed-tensors 0.20.1, and of llmcompressor 0.14.0.1 with 0.19.0, on a CPU. T is the weight's
dtype; operations are rounded to nearest, ties to even, T(x) is x in binary32 rounded to T:

    a = largest |w| of the row
    s = T(a / 448); where it is 0, T's epsilon (BF16 2^-7, F16 2^-10, F32 2^-23)
    code = e4m3(clamp(T(w / s), -448, 448))

so a code is rounded twice. Zeros keep the quotient's sign.
"""

from __future__ import annotations

from hubrelease.formats._compressed_tensors import block
from hubrelease.formats._format import CODES, SCALES, Format, Part


def parts(rows: int, columns: int, dtype: str) -> tuple[Part, ...]:
    return Part(".weight", "F8_E4M3", (rows, columns), CODES), Part(".weight_scale", dtype, (rows, 1), SCALES)


FORMAT = Format(
    name="fp8_dynamic",
    sentence="FP8 (E4M3) weights with one scale for each output channel; activations are quantised to FP8 token by token at run time.",
    arithmetic="compressed-tensors 0.20.1 (FP8_DYNAMIC, min-max)",
    readers="transformers with compressed-tensors, vLLM",
    kernel_name="fp8_channel",
    parts=parts,
    config_block=block("FP8_DYNAMIC"),
)
