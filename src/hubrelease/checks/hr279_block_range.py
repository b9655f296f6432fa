"""With --deep: most blocks of an FP8 weight do not use the range that their scales give them.

Why it matters: A block's largest code is 448 when its scale was computed from it; anything else says that scales and codes come from
different runs, or that the scales were made for other blocks.
Mend: Quantise the weight again, scales and codes together.
Source: outputs of llm-compressor 0.14, transformers 5.24.0 and ModelOpt 0.47.0, whose every block reaches the code 0x7E.

A warning, since a producer may round its scales up (UE8M0 does, and is left out).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.layout import SCALE
from hubrelease.quantisation.modules import Module
from hubrelease.release import Release

UNSIGNED = bytes(byte & 0x7F for byte in range(256))
TOP = 0x7E  # 448


def run(release: Release) -> Iterator[Problem]:
    if not release.deep:
        return
    for found in release.quantised:
        for file, message, names in gathered(unused_range(found)):
            yield CHECK.problem(
                Where(file, tensor=names[0]), f"{few(names)}: {message}", "quantise the weight again, scales and codes together", "warning"
            )


def unused_range(found: Quantised) -> Iterator[tuple[str, str, str]]:
    for name, layout in found.layouts.items():
        module, scale = found.quantised[name], layout.part(SCALE)
        located = module.get(scale) if scale else None
        exponents = found.scheme is not None and found.scheme.block.get("scale_fmt") == "ue8m0"
        if layout.block is None or located is None or located.tensor.dtype not in ("F32", "BF16") or exponents:
            continue
        below, blocks = count(found, module, layout.block)
        if 2 * below > blocks:
            yield module.file, f"{below} of {blocks} blocks never reach the largest code", f"{name}.weight"


def count(found: Quantised, module: Module, block: tuple[int, int]) -> tuple[int, int]:
    """(blocks that are not zero and stay below the largest code, blocks) of a weight, one strip of rows at a time."""
    codes = module.codes
    if codes is None or len(codes.tensor.shape) != 2 or codes.file in found.release.partial or not codes.tensor.elements:
        return 0, 0
    if any(size % edge for size, edge in zip(codes.tensor.shape, block, strict=True)):
        return 0, 0  # ModelOpt 0.47 scales a partial block by more than its own values
    columns = codes.tensor.shape[1]
    starts = range(0, columns, block[1])
    below = blocks = 0
    for strip in found.release.containers.chunks(codes, block[0] * columns):
        plain = strip.translate(UNSIGNED)
        rows = [plain[at : at + columns] for at in range(0, len(plain), columns)]
        tops = [max(max(row[start : start + block[1]], default=0) for row in rows) for start in starts]
        blocks += len(tops)
        below += sum(0 < top < TOP for top in tops)
    return below, blocks


CHECK = Check("HR279", "block-range", "blocks that do not use their range", run)
