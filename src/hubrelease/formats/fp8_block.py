"""Block FP8 (`quant_method: fp8`): E4M3 codes, one binary32 scale for each block of 128 x 128.

The bytes are those of transformers 5.24.0's Fp8Quantize with scale_fmt "float", on a CPU or with CUDA. All operations are
IEEE binary32, each rounded to nearest, ties to even:

    a = largest |w| of the block
    f = (1 / a) * 448               two roundings; where a is 0, f = 1
    weight_scale_inv = 1 / f        the multiplier, despite its name
    code = e4m3(clamp(w * f, -448, 448))

e4m3 is E4M3 without infinities, to nearest, ties to even; zeros keep the sign of w. One thing differs: where f would be
infinite (0 < a < about 1.3e-36) transformers writes a scale of 0 and NaN codes. Such a block counts as zeros here: scale 1,
codes 0 with the signs of w.

Rows and columns must be multiples of 128: transformers dequantises partial blocks with the wrong scale, without a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hubrelease.formats._format import CODES, SCALES, Format, Part
from hubrelease.quantisation import block_fp8


def parts(rows: int, columns: int, _dtype: str) -> tuple[Part, ...]:
    return (
        Part(".weight", "F8_E4M3", (rows, columns), CODES),
        Part(".weight_scale_inv", "F32", (rows // 128, columns // 128), SCALES),
    )


def config_block(quantised: Iterable[str], excluded: Iterable[str]) -> dict[str, Any]:
    """lm_head is named even where no tensor has that name: transformers would make an FP8 layer of a tied head."""
    return block_fp8.config_block({*excluded, "lm_head"} - set(quantised))


FORMAT = Format(
    name="fp8_block",
    sentence="FP8 (E4M3) weights in blocks of 128 × 128 with FP32 scales; activations are quantised to FP8 at run time.",
    arithmetic="transformers 5.24.0 (Fp8Quantize, scale_fmt float)",
    readers="transformers (`quant_method: fp8`; on a CPU it dequantises when it loads), vLLM, SGLang",
    kernel_name="fp8_block",
    parts=parts,
    config_block=config_block,
)
