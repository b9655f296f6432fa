"""NVFP4 weights, 16-bit activations (compressed-tensors' NVFP4A16): E2M1 codes, an E4M3 scale for each 16 columns of a
row, and a global scale that divides.

The bytes are those of compressed-tensors 0.20.1, and of llmcompressor 0.14.0.1 with 0.19.0, on a CPU. T is the weight's
dtype, T(x) is x in binary32 rounded to T, everything else is binary32; to nearest, ties to even:

    A = largest |w| of the weight and of the siblings that share its global scale, at least T's smallest normal number
    g = T(T(1 / A) * 2688); where it is infinite, 1          stored as weight_global_scale, F32 [1]
    a = largest |w| of the group
    s = e4m3(clamp(g * T(a / 6), -448, 448)); where it is 0, 0.125
    d = s / g
    x = clamp(w / d, -6, 6)
    code = e2m1(|x|), plus 8 where x < 0

e2m1 counts how many of |x| > .25, >= .75, > 1.25, >= 1.75, > 2.5, >= 3.5, > 5 hold (0, .5, 1, 1.5, 2, 3, 4, 6). A
quotient that underflows to zero, and minus zero, have code 0. Two codes a byte, the even column in the low nibble. A
weight of zeros has g = 1, scales 0.125, codes 0. In F16, g is 1 for A under 0.041, where 2688 / A leaves F16's range: the
producer's, and kept, though group scales are coarse then.
"""

from __future__ import annotations

from hubrelease.arithmetic.kernels import divisor
from hubrelease.formats._compressed_tensors import block
from hubrelease.formats._format import CODES, SCALES, Format, Part, scalar


def parts(rows: int, columns: int, _dtype: str) -> tuple[Part, ...]:
    return (
        Part(".weight_packed", "U8", (rows, columns // 2), CODES),
        Part(".weight_scale", "F8_E4M3", (rows, columns // 16), SCALES),
        Part(".weight_global_scale", "F32", (1,)),
    )


def constants(shared_amax: float | None, _input_amax: float | None, _shape: tuple[int, int], dtype: str) -> dict[str, bytes]:
    if shared_amax is None:
        raise ValueError("the global scale needs the shared maximum")
    return {".weight_global_scale": scalar(divisor(shared_amax, dtype))}


FORMAT = Format(
    name="nvfp4a16",
    sentence="NVFP4 weights (4-bit E2M1, an FP8 scale for every 16, one global scale); activations stay in 16 bits.",
    arithmetic="compressed-tensors 0.20.1 (NVFP4A16, min-max)",
    readers="transformers with compressed-tensors, vLLM",
    kernel_name="nvfp4_divisor",
    parts=parts,
    config_block=block("NVFP4A16"),
    constants=constants,
)
