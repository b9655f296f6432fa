"""The roundings in plain torch: what the other paths are held against, and what a release may carry to be re-derived.

Needs torch alone, on a CPU or with CUDA, with the same bits on both. For that, numbers are divided by tensors and never by
Python numbers: CUDA would multiply by the reciprocal. Operations in BF16 or F16 are written as binary32 operations with a
rounding after each, which is what torch does inside. Codes are found on magnitudes; their signs are put on at the end.

Each function takes a weight's rows as a tensor [rows, columns] of BF16, F16 or F32, and gives `Rounded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

E4M3 = (3, 121, 448.0)  # stored mantissa bits, exponent field of the smallest normal number, largest number
E2M1 = (1, 127, 6.0)


class Rounded(NamedTuple):
    """`codes` are bytes [rows, ...]; `scales` have the type they are stored in. `errors` and `sources` are squares as whole
    numbers, in parts of `steps`, one of each for a block, a row, a group or a run (see values.Sums)."""

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
    size = blocks.abs()
    factor = size.amax((1, 3), keepdim=True).reciprocal() * 448.0  # `448.0 / amax` in torch is these two operations
    empty = torch.isinf(factor)  # zeros, or so small that the factor runs over
    scale = torch.where(empty, torch.ones_like(factor), factor.reciprocal())
    quotient = size * torch.where(empty, torch.zeros_like(factor), factor)
    code, value = nearest(quotient, *E4M3)
    counted = count(quotient, value, FP8, (1, 3))
    return Rounded(signed(code, blocks, 24, 0x80).view(rows, columns), scale.view(rows // 128, columns // 128), scale, *counted)


def fp8_channel(w: Tensor) -> Rounded:
    """compressed-tensors' FP8 with one scale a row, in the weight's dtype."""
    wide = w.float()
    size = wide.abs()
    scale = or_epsilon((size.amax(1, keepdim=True) / number(448.0, w)).to(w.dtype))
    quotient = size / scale.float()
    code, value = nearest(quotient.to(w.dtype).float(), *E4M3)
    counted = count(quotient, value, FP8, 1)
    return Rounded(signed(code, wide, 24, 0x80), scale, scale.float(), *counted)


def nvfp4_divisor(w: Tensor, shared: float) -> Rounded:
    """compressed-tensors' NVFP4: the global scale divides, group scales begin in the weight's dtype."""
    import torch

    share, groups = number(shared, w), w.float().view(w.shape[0], -1, 16)
    size = groups.abs()
    begun = (size.amax(2, keepdim=True) / number(6.0, w)).to(w.dtype).float()
    scale = nearest(share * begun, *E4M3)[1]
    scale = torch.where(scale == 0, torch.full_like(scale, 0.125), scale)
    return nvfp4(groups, size, scale, scale / share)


def nvfp4_multiplier(w: Tensor, shared: float) -> Rounded:
    """ModelOpt's NVFP4: the global scale multiplies, binary32 throughout."""
    import torch

    share, groups = number(shared, w), w.float().view(w.shape[0], -1, 16)
    size = groups.abs()
    begun = size.amax(2, keepdim=True) / (share * number(6.0, w))
    scale = nearest(torch.where(begun == 0, torch.ones_like(begun), begun).clamp(min=2.0**-9), *E4M3)[1]
    step = scale * share
    return nvfp4(groups, size, scale, torch.where(step == 0, torch.full_like(step, float("inf")), step))


def int8(w: Tensor) -> Rounded:
    return packed(w, 128, INT8)


def int4(w: Tensor) -> Rounded:
    codes, *rest = packed(w, 8, INT4)
    return Rounded(codes[:, 0::2] | codes[:, 1::2] << 4, *rest)


def to_bf16(w: Tensor) -> Rounded:
    """To the nearest BF16. There is no scale; errors count in BF16's spacing at the row's largest number."""
    import torch

    size, rounded = w.float().abs(), w.to(torch.bfloat16)
    step = power_of(size.amax(1, keepdim=True)) * 2.0**-7
    counted = count(size / step, rounded.float().abs() / step, BF16, 1)
    return Rounded(rounded.view(torch.uint8), size[:0], step, *counted)


def amax_bits(w: Tensor) -> int:
    """Bits of the largest magnitude, as w's dtype has them. From `infinite_bits` on, there is no finite number."""
    import torch

    kind = torch.int32 if w.dtype == torch.float32 else torch.int16
    return int((w.view(kind) & torch.iinfo(kind).max).amax())


# ------------------------------------------------------------------------------------------------------------- the parts


def nvfp4(groups: Tensor, size: Tensor, scale: Tensor, step: Tensor) -> Rounded:
    import torch

    rows = groups.shape[0]
    quotient = size / step
    code, value = nearest(quotient, *E2M1)
    # what is negative and rounds to zero keeps its sign; minus zero, and what underflowed in the division, has none
    codes = signed(code, torch.copysign(quotient, groups) + 0.0, 28, 8)
    runs = largest_of_runs(step.squeeze(2))
    share = torch.where(torch.isinf(step), torch.zeros_like(step), step / runs.repeat_interleave(64, 1)[:, : groups.shape[1], None])
    errors, sources, most = count(quotient, value, NVFP4, 2, share)
    low, high = codes.view(rows, -1, 2).unbind(2)
    kept = scale.squeeze(2).to(torch.float8_e4m3fn)
    return Rounded(low | high << 4, kept, runs, in_runs(errors).sum(2), in_runs(sources).sum(2), most)


def packed(w: Tensor, half: int, by: Counting) -> Rounded:
    """compressed-tensors' symmetric integers in groups of 128, in the weight's dtype, plus `half`; one a byte."""
    import torch

    groups = w.float().view(w.shape[0], -1, 128)
    scale = or_epsilon((groups.abs().amax(2, keepdim=True) / number(half - 0.5, w)).to(w.dtype))
    quotient = groups / scale.float()
    value = quotient.to(w.dtype).float().clamp_(-half, half - 1).round_()
    codes = (value + half).to(torch.uint8).view(w.shape)
    counted = count(quotient, value, by, 2)
    return Rounded(codes, scale.squeeze(2), scale.float(), *counted)


def number(x: float, like: Tensor) -> Tensor:
    """A binary32 tensor to divide by."""
    import torch

    return torch.tensor(x, dtype=torch.float32, device=like.device)


def or_epsilon(scale: Tensor) -> Tensor:
    import torch

    return torch.where(scale == 0, torch.full_like(scale, torch.finfo(scale.dtype).eps), scale)


def nearest(size: Tensor, mantissa: int, low: int, largest: float) -> tuple[Tensor, Tensor]:
    """Codes and values of the small floats nearest to binary32 magnitudes, ties to even; the largest for what is above it.

    Adding 2^(23-mantissa) times a number's power of two leaves just these bits in the sum; the exponent's share of the code
    rides along in the lowest bits. (torch's cast to E4M3 gives the same codes; its way back to binary32 is slow.)
    """
    import torch

    clamped = size.clamp(max=largest)
    power = (clamped.view(torch.int32) & 0x7F800000).clamp_(min=low << 23)
    magic = (power >> (23 - mantissa)).add_(power).add_(((23 - mantissa) << 23) - (low << mantissa)).view(torch.float32)
    total = clamped.add_(magic)
    return total.view(torch.int32) & 0x7F, total - magic


def signed(code: Tensor, numbers: Tensor, shift: int, bit: int) -> Tensor:
    """Codes as bytes, `bit` set where the number's sign is."""
    import torch

    return ((numbers.view(torch.int32) >> shift).bitwise_and_(bit).bitwise_or_(code)).to(torch.uint8)


def power_of(x: Tensor) -> Tensor:
    """The power of two that is not above a magnitude; the smallest normal one for what is below it."""
    import torch

    return ((x.contiguous().view(torch.int32) >> 23).clamp(1) << 23).view(torch.float32)


class Counting(NamedTuple):
    """How finely errors and magnitudes are counted, and the most steps that an error counts for."""

    error_bits: int
    source_bits: int
    most_steps: float


FP8, NVFP4, INT8, INT4, BF16 = Counting(9, 4, 32.0), Counting(11, 10, 4.0), Counting(12, 5, 4.0), Counting(12, 9, 4.0), Counting(13, 5, 4.0)


def count(
    quotient: Tensor, value: Tensor, by: Counting, over: int | tuple[int, ...], share: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Errors and magnitudes in parts of a step (with `share`, of the largest step) as whole numbers, their squares added;
    the largest error in steps. Sums of whole numbers are exact."""
    off = (quotient - value).abs_()
    largest = off.amax()
    off.clamp_(max=by.most_steps)
    size = quotient if share is None else quotient * share
    off = off if share is None else off.mul_(share)
    return add_squares(off, by.error_bits, over), add_squares(size, by.source_bits, over), largest


def add_squares(x: Tensor, bits: int, over: int | tuple[int, ...]) -> Tensor:
    import torch

    whole = (x * 2.0**bits).round_().to(torch.int32)
    return whole.mul_(whole).sum(over, dtype=torch.int64)


def largest_of_runs(step: Tensor) -> Tensor:
    """The largest finite step of each run of 64 groups of a row."""
    import torch

    return in_runs(torch.where(torch.isinf(step), torch.zeros_like(step), step)).amax(2)


def in_runs(x: Tensor) -> Tensor:
    """[rows, groups] as [rows, runs, 64], filled up with zeros."""
    import torch

    return torch.nn.functional.pad(x, (0, -x.shape[1] % 64)).view(x.shape[0], -1, 64)
