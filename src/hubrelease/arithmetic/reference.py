"""The roundings in plain torch: what the other paths are held against, and what a release may carry to be re-derived.

Needs torch alone, on a CPU or with CUDA, with the same bits on both. For that, numbers are divided by tensors and never
by Python numbers (CUDA would multiply by the reciprocal), and clamped before they are cast to E4M3 (some builds
saturate, others write NaN). BF16 operations are written as binary32 operations with a rounding after each, which is
what torch does inside.

Each function takes a weight's rows as a tensor [rows, columns] of BF16, F16 or F32, and gives `Rounded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Rounded(NamedTuple):
    """`codes` are bytes [rows, ...]; `scales` have the type they are stored in. The squares are whole numbers, one for
    each of `steps`: steps are those that the squares of a block, a row or a run are relative to (see values.Sums)."""

    codes: Tensor
    scales: Tensor
    steps: Tensor
    errors: Tensor
    sources: Tensor
    largest: Tensor


def fp8_block(w: Tensor) -> Rounded:
    """transformers' Fp8Quantize: blocks of 128 x 128, binary32 throughout."""
    import torch

    rows, columns = w.shape
    blocks = w.float().view(rows // 128, 128, columns // 128, 128)
    amax = blocks.abs().amax((1, 3), keepdim=True)
    factor = amax.reciprocal() * 448.0  # `448.0 / amax` in torch is these two operations
    empty = torch.isinf(factor)  # zeros, or so small that the factor runs over
    scale = torch.where(empty, torch.ones_like(factor), factor.reciprocal())
    quotient = blocks * torch.where(empty, torch.zeros_like(factor), factor)
    value, codes = to_e4m3(quotient)
    counted = count(blocks, quotient, value, Steps(scale, scale, 9, 4), (1, 3))
    return Rounded(codes.view(rows, columns), scale.view(rows // 128, columns // 128), scale, *counted)


def fp8_channel(w: Tensor) -> Rounded:
    """compressed-tensors' FP8 with one scale a row, in the weight's dtype."""
    wide = w.float()
    scale = or_epsilon((wide.abs().amax(1, keepdim=True) / number(448.0, w)).to(w.dtype))
    quotient = wide / scale.float()
    value, codes = to_e4m3(quotient.to(w.dtype).float())
    counted = count(wide, quotient, value, Steps(scale.float(), scale.float(), 9, 4), 1)
    return Rounded(codes, scale, scale.float(), *counted)


def nvfp4_divisor(w: Tensor, shared: float) -> Rounded:
    """compressed-tensors' NVFP4: the global scale divides, group scales begin in the weight's dtype."""
    import torch

    share, groups = number(shared, w), w.float().view(w.shape[0], -1, 16)
    begun = (groups.abs().amax(2, keepdim=True) / number(6.0, w)).to(w.dtype).float()
    scale = to_e4m3(share * begun)[0]
    scale = torch.where(scale == 0, torch.full_like(scale, 0.125), scale)
    return nvfp4(groups, scale, scale / share)


def nvfp4_multiplier(w: Tensor, shared: float) -> Rounded:
    """ModelOpt's NVFP4: the global scale multiplies, binary32 throughout."""
    import torch

    share, groups = number(shared, w), w.float().view(w.shape[0], -1, 16)
    begun = groups.abs().amax(2, keepdim=True) / (share * number(6.0, w))
    begun = torch.where(begun == 0, torch.ones_like(begun), begun).clamp(2.0**-9, 448.0)
    scale = begun.to(torch.float8_e4m3fn).float()
    step = scale * share
    return nvfp4(groups, scale, torch.where(step == 0, torch.full_like(step, float("inf")), step))


def int8(w: Tensor) -> Rounded:
    return packed(w, 128, 5)


def int4(w: Tensor) -> Rounded:
    return packed(w, 8, 9)


def to_bf16(w: Tensor) -> Rounded:
    """To the nearest BF16. There is no scale; errors count in BF16's spacing at the row's largest number."""
    import torch

    wide = w.float()
    rounded = w.to(torch.bfloat16)
    step = power_of(wide.abs().amax(1, keepdim=True)) * 2.0**-7
    counted = count(wide, wide / step, rounded.float() / step, Steps(step, step, 13, 20), 1)
    return Rounded(rounded.view(torch.uint8), wide[:0], step, *counted)


def amax_bits(w: Tensor) -> int:
    """Bits of the largest magnitude, as w's dtype has them. From `infinite_bits` on, there is no finite number."""
    import torch

    kind = torch.int32 if w.dtype == torch.float32 else torch.int16
    return int((w.view(kind) & torch.iinfo(kind).max).amax())


# ------------------------------------------------------------------------------------------------------------- the parts


def nvfp4(groups: Tensor, scale: Tensor, step: Tensor) -> Rounded:
    import torch

    rows = groups.shape[0]
    quotient = groups / step
    value, codes = to_e2m1(quotient)
    runs = largest_of_runs(step.squeeze(2))
    largest = runs.repeat_interleave(64, 1)[:, : groups.shape[1], None]
    errors, sources, most = count(groups, quotient, value, Steps(step, largest, 11, 9), 2)
    low, high = codes.view(rows, -1, 2).unbind(2)
    kept = scale.squeeze(2).to(torch.float8_e4m3fn)
    return Rounded(low | high << 4, kept, runs, in_runs(errors).sum(2), in_runs(sources).sum(2), most)


def packed(w: Tensor, half: int, source_bits: int) -> Rounded:
    """compressed-tensors' symmetric integers in groups of 128, in the weight's dtype; offset by `half`, least first."""
    import torch

    groups = w.float().view(w.shape[0], -1, 128)
    scale = or_epsilon((groups.abs().amax(2, keepdim=True) / number(half - 0.5, w)).to(w.dtype))
    quotient = groups / scale.float()
    value = quotient.to(w.dtype).float().clamp(-half, half - 1).round()
    codes = (value + half).to(torch.uint8).view(w.shape)
    if half == 8:
        codes = codes[:, 0::2] | codes[:, 1::2] << 4
    counted = count(groups, quotient, value, Steps(scale.float(), scale.float(), 12, source_bits), 2)
    return Rounded(codes, scale.squeeze(2), scale.float(), *counted)


def number(x: float, like: Tensor) -> Tensor:
    """A binary32 tensor to divide by."""
    import torch

    return torch.tensor(x, dtype=torch.float32, device=like.device)


def or_epsilon(scale: Tensor) -> Tensor:
    import torch

    return torch.where(scale == 0, torch.full_like(scale, torch.finfo(scale.dtype).eps), scale)


def to_e4m3(x: Tensor) -> tuple[Tensor, Tensor]:
    """Values and codes of the nearest E4M3 numbers."""
    import torch

    codes = x.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    return codes.float(), codes.view(torch.uint8)


def to_e2m1(x: Tensor) -> tuple[Tensor, Tensor]:
    """Values and codes of the nearest E2M1 numbers, ties to even. What is negative and rounds to zero keeps its sign;
    minus zero has none.

    Adding 2^22 times a number's power of two (at least 1) leaves just the bits in the sum that E2M1 has.
    """
    import torch

    magnitude = x.abs().clamp(max=6.0)
    power = (magnitude.view(torch.int32) & 0x7F800000).clamp(min=127 << 23)
    magic = power + (22 << 23)
    total = magnitude + magic.view(torch.float32)
    code = total.view(torch.int32) - magic + (power >> 22) - (127 << 1)
    value = total - magic.view(torch.float32)
    return torch.where(x < 0, -value, value), (code + (x < 0) * 8).to(torch.uint8)


def power_of(step: Tensor) -> Tensor:
    """The power of two that is not above a step, and not below 2^-119."""
    import torch

    return ((step.contiguous().view(torch.int32) >> 23).clamp(8) << 23).view(torch.float32)


class Steps(NamedTuple):
    """Each number's step, the largest step of those counted together, and how finely errors and numbers are counted."""

    own: Tensor
    largest: Tensor
    error_bits: int
    source_bits: int


def count(w: Tensor, quotient: Tensor, value: Tensor, steps: Steps, over: int | tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Errors and numbers over the power of two of the largest step, as whole numbers, their squares added; the largest
    error in steps. The factors are made as powers of two first, which is exact, and so are the sums."""
    import torch

    field = (steps.largest.contiguous().view(torch.int32) >> 23).clamp(8)
    error = steps.own * ((254 - field + steps.error_bits) << 23).view(torch.float32)
    error = torch.where(torch.isinf(steps.own), torch.zeros_like(error), error)
    source = ((254 - field + steps.source_bits) << 23).view(torch.float32)
    off = (quotient - value).abs_()
    largest = off.amax()
    return add_squares(off.mul_(error), over), add_squares(w * source, over), largest


def add_squares(x: Tensor, over: int | tuple[int, ...]) -> Tensor:
    import torch

    whole = x.round_().to(torch.int32 if float(x.abs().amax()) < 2.0**15 else torch.int64)
    return whole.mul_(whole).sum(over, dtype=torch.int64)


def largest_of_runs(step: Tensor) -> Tensor:
    """The largest finite step of each run of 64 groups of a row."""
    import torch

    return in_runs(torch.where(torch.isinf(step), torch.zeros_like(step), step)).amax(2)


def in_runs(x: Tensor) -> Tensor:
    """[rows, groups] as [rows, runs, 64], filled up with zeros."""
    import torch

    return torch.nn.functional.pad(x, (0, -x.shape[1] % 64)).view(x.shape[0], -1, 64)
