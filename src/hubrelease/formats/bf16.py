"""A checkpoint that is in BF16 already, carried over as it is. `convert` does not have this format, and nothing is rounded.

Weights that are mostly F32 or F16 are not made BF16: a release that states bf16 over them is refused (HR275). Convert them
first (`model.to(torch.bfloat16)`), or use as-is. Norms, biases and routers may be wider. There is no quantization_config.

The arithmetic (`Format.kernel`: to nearest, ties to even, as torch's `tensor.to(torch.bfloat16)`) is not reached by a build yet.
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
