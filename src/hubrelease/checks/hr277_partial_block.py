"""A block FP8 weight has rows or columns that the block does not divide.

Why it matters: transformers dequantises such a weight with another block, or raises; vLLM refuses one inside a fused matrix.
Mend: Leave such a weight unquantised and list it in modules_to_not_convert.
Source: transformers 5.24.0 integrations/finegrained_fp8.py; vLLM 0.32.0 utils/fp8_utils.py validate_fp8_block_shape.

Published releases have such weights (kv_a_proj_with_mqa of DeepSeek-V3 has 576 rows) and load on a GPU, so nothing is said of
them as such. It is a warning where release.yaml states fp8_block, whose conversion leaves them alone, and with --deep.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.scheme import mapping
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    if not release.deep and mapping(release.spec.get("weights")).get("format") != "fp8_block":
        return
    for found in release.quantised:
        for file, message, names in gathered(partial(found)):
            mend = "leave the weight unquantised, and list it in modules_to_not_convert"
            yield CHECK.problem(Where(file, tensor=names[0]), f"{few(names)}: {message}", mend, "warning")


def partial(found: Quantised) -> Iterator[tuple[str, str, str]]:
    for name, layout in found.layouts.items():
        codes = found.quantised[name].codes
        if layout.block is None or codes is None or len(codes.tensor.shape) != 2:
            continue
        if any(size % edge for size, edge in zip(codes.tensor.shape, layout.block, strict=True)):
            message = f"{list(codes.tensor.shape)} is no whole number of blocks of {layout.block[0]} x {layout.block[1]}"
            yield codes.file, message, codes.tensor.name


CHECK = Check("HR277", "partial-block", "block FP8 weight with partial blocks", run)
