"""No quantisation: weights of F32 or F16 become BF16, to nearest, ties to even; BF16 stays as it is.

torch's `tensor.to(torch.bfloat16)` gives the same bytes. An F32 number too large for BF16 becomes infinite in torch; it is
refused here. There is no quantization_config.
"""

from __future__ import annotations

from hubrelease.formats._format import CODES, Format, Part, none_of


def parts(rows: int, columns: int, _dtype: str) -> tuple[Part, ...]:
    return (Part(".weight", "BF16", (rows, columns), CODES),)


FORMAT = Format(
    name="bf16",
    sentence="BF16 weights, not quantised.",
    arithmetic="IEEE 754 rounding to BF16, ties to even",
    readers="every reader of BF16 checkpoints",
    kernel_name="to_bf16",
    parts=parts,
    config_block=none_of,
    dtypes=("F16", "F32"),
)
