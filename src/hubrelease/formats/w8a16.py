"""Integers of 8 bits (compressed-tensors' W8A16, pack-quantized): symmetric, rounded to nearest, groups of 128 columns.

The bytes are those of compressed-tensors 0.20.1, and of llmcompressor 0.14.0.1 with 0.19.0, on a CPU. T is the weight's
dtype, T(x) is x in binary32 rounded to T; to nearest, ties to even:

    a = largest |w| of the group
    s = T(a / 127.5); where it is 0, T's epsilon (BF16 2^-7, F16 2^-10, F32 2^-23)
    n = round(clamp(T(w / s), -128, 127))

so a quotient is rounded to T before it is rounded to a whole number. n + 128 is stored in 8 bits, four to a little-endian
32-bit word, the first in the lowest bits.
"""

from __future__ import annotations

from hubrelease.formats._compressed_tensors import block
from hubrelease.formats._format import Format
from hubrelease.formats._integers import constants_of, parts_of

FORMAT = Format(
    name="w8a16",
    sentence="8-bit integer weights, symmetric, rounded to nearest in groups of 128; activations stay in 16 bits.",
    arithmetic="compressed-tensors 0.20.1 (W8A16, min-max)",
    readers="transformers with compressed-tensors, vLLM",
    kernel_name="int8",
    parts=parts_of(8),
    config_block=block("W8A16"),
    constants=constants_of(),
)
