"""Block FP8 and NVFP4 as Triton kernels for CUDA: the operations of reference.py, with the same bits.

Launches are without enable_fp_fusion, for a product and a sum that are fused round once where the rules round twice.
Divisions are tl.div_rn; or, where `fast` may be, a product with the reciprocal and one correction, which gives the nearest
quotient of every BF16 number by every binary32 number (all 2^30 pairs of significands were tried) as long as nothing
underflows. Only imported where the path `triton` is asked for: Triton compiles functions of a module, so it is imported
at the top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from hubrelease.arithmetic.in_torch import raw, strip_tensor, sums
from hubrelease.arithmetic.kernels import Kernel
from hubrelease.arithmetic.reference import Rounded, amax_bits
from hubrelease.arithmetic.rounding import float_of
from hubrelease.arithmetic.values import INFINITE, Encoded, PathMissing, Strip, first_not_finite

if TYPE_CHECKING:
    from torch import Tensor

FP8_WARPS = 8
ROWS, GROUPS, WARPS = 8, 64, 1  # of a program of NVFP4: one warp works through 1024 columns of each row, and keeps sums to itself


@triton.jit
def nearest_e4m3(size):
    """Codes and values of the E4M3 numbers nearest to magnitudes up to 448; see reference.nearest."""
    power = tl.maximum(size.to(tl.int32, bitcast=True) & 0x7F800000, 121 << 23)
    magic = power + (power >> 20) + ((20 << 23) - (121 << 3))
    offset = magic.to(tl.float32, bitcast=True)
    total = size + offset
    return total.to(tl.int32, bitcast=True) & 0x7F, total - offset


@triton.jit
def nearest_e2m1(size):
    """Codes and values of the E2M1 numbers nearest to magnitudes up to 6. What is added leaves multiples of 0.5, 1 or 2,
    and in the lowest bits of the sum the code."""
    offset = tl.where(size < 2.0, 4194304.0, tl.where(size < 4.0, 8388610.0, 16777224.0))
    total = size + offset
    return total.to(tl.int32, bitcast=True) & 7, total - offset


@triton.jit
def flat(x):
    """One dimension, so that each thread reduces all that it holds before threads exchange anything."""
    return tl.reshape(x, (x.numel,))


@triton.jit
def multiples(x, bits: tl.constexpr):
    """How many times 2^-bits the nearest multiple of it is."""
    field: tl.constexpr = (150 - bits) << 23
    offset = tl.full((), field, tl.int32).to(tl.float32, bitcast=True)
    return (x + offset).to(tl.int32, bitcast=True) - field


@triton.jit
def fp8_block_kernel(x, codes, scales, errors, sources, largest, amaxes, columns, HARDWARE: tl.constexpr, MEASURE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    at = row * columns + tl.program_id(1) * 128 + tl.arange(0, 128)[None, :]
    bits = tl.load(x + at).to(tl.int32)
    wide = (bits << 16).to(tl.float32, bitcast=True)
    amax = tl.max(tl.max(bits & 0x7FFF, 1), 0)  # as bits: a maximum of floats would pass over NaN
    one = tl.full((), 1.0, tl.float32)
    factor = tl.div_rn(one, (amax << 16).to(tl.float32, bitcast=True)) * 448.0
    empty = factor == float("inf")
    scale = tl.where(empty, 1.0, tl.div_rn(one, factor))
    quotient = wide * tl.where(empty, 0.0, factor)
    if HARDWARE:  # from compute capability 8.9 on; what the product is above 448 rounds to 448
        tl.store(codes + at, quotient.to(tl.float8e4nv).to(tl.uint8, bitcast=True))
    else:
        plain, _ = nearest_e4m3(tl.abs(quotient))
        tl.store(codes + at, (plain | ((quotient.to(tl.int32, bitcast=True) >> 24) & 0x80)).to(tl.uint8))
    block = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(scales + block, scale)
    tl.store(amaxes + block, amax)
    if MEASURE:
        # the value is computed, not cast back: Triton 3.6 gives a cast back from E4M3 in another order (seen on an H200)
        _, value = nearest_e4m3(tl.abs(quotient))
        off = tl.abs(tl.abs(quotient) - value)
        error, source = multiples(off, 9), multiples(tl.abs(quotient), 4)
        tl.store(errors + block, sum_of_squares(error))
        tl.store(sources + block, sum_of_squares(source))
        tl.store(largest + block, tl.max(flat(off), 0))


@triton.jit
def sum_of_squares(x):
    """Of 128 x 128 numbers under 2^13.5: eight at a time fit 32 bits."""
    eights = tl.sum(tl.reshape(x * x, (128, 16, 8)), 2)
    return tl.sum(flat(eights.to(tl.int64)), 0)


@triton.jit
def divisor_scale(amax, shared):
    """compressed-tensors' scale of a group, and what its numbers are divided by; see nvfp4a16.py."""
    six = tl.full((), 6.0, tl.float32)
    begun = tl.div_rn(amax, six).to(tl.int32, bitcast=True)
    begun = (begun + 0x7FFF + ((begun >> 16) & 1)) & -65536
    code, value = nearest_e4m3(tl.minimum(shared * begun.to(tl.float32, bitcast=True), 448.0))
    scale = tl.where(value == 0, 0.125, value)
    return tl.where(value == 0, 0x20, code), tl.div_rn(scale, shared)


@triton.jit
def multiplier_scale(amax, shared):
    """ModelOpt's; see modelopt_nvfp4.py."""
    begun = tl.div_rn(amax, shared * 6.0)
    begun = tl.minimum(tl.maximum(tl.where(begun == 0, 1.0, begun), 0.001953125), 448.0)
    code, value = nearest_e4m3(begun)
    return code, value * shared


@triton.jit
def ordinary(step, amax):
    """Whether a quick division is exact for a run: a step under 2^-60 or over 2^10, or numbers all under 2^-30 (a run of zeros
    among them), take the slow one: there a remainder could underflow."""
    low, high, most = tl.min(step, 0), tl.max(step, 0), tl.max(amax, 0)
    return (low >= 8.673617379884035e-19) & (high <= 1024.0) & (most >= 9.313225746154785e-10)


@triton.jit
def quotients(wide, step, is_fast, FAST: tl.constexpr):
    """Numbers [groups, 8] by their groups' steps."""
    divisor = tl.broadcast_to(step[:, None], wide.shape)
    if FAST:
        if is_fast:
            reciprocal = tl.broadcast_to(tl.div_rn(tl.full(step.shape, 1.0, tl.float32), step)[:, None], wide.shape)
            first = wide * reciprocal
            quotient = tl.fma(tl.fma(-first, divisor, wide), reciprocal, first)
        else:
            quotient = tl.div_rn(wide, divisor)
    else:
        quotient = tl.div_rn(wide, divisor)
    return quotient


@triton.jit
def nvfp4_kernel(
    x,
    shared,
    codes,
    scales,
    steps,
    errors,
    sources,
    largest,
    amaxes,
    rows,
    groups,
    DIVIDES: tl.constexpr,
    ROWS: tl.constexpr,
    GROUPS: tl.constexpr,
    FAST: tl.constexpr,
    MEASURE: tl.constexpr,
):
    share = tl.load(shared)
    first = tl.program_id(0) * ROWS
    for row in range(first, tl.minimum(first + ROWS, rows)):
        nvfp4_run(x, share, codes, scales, steps, errors, sources, largest, amaxes, row, groups, DIVIDES, GROUPS, FAST, MEASURE)


@triton.jit
def nvfp4_run(
    x,
    share,
    codes,
    scales,
    steps,
    errors,
    sources,
    largest,
    amaxes,
    row,
    groups,
    DIVIDES: tl.constexpr,
    GROUPS: tl.constexpr,
    FAST: tl.constexpr,
    MEASURE: tl.constexpr,
):
    """A run of groups of a row, or what is left of it. A thread holds whole groups, as two halves of eight numbers (16 bytes
    each): so it works out a scale once, and asks no other thread for a maximum."""
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    known = group < groups
    row = tl.zeros((), tl.int64) + row
    of_group = row * groups + group
    at = of_group[:, None] * 16 + tl.arange(0, 8)[None, :]
    first = tl.load(x + at, mask=known[:, None], other=0).to(tl.int32)
    second = tl.load(x + at + 8, mask=known[:, None], other=0).to(tl.int32)
    amax = tl.max(tl.maximum(first & 0x7FFF, second & 0x7FFF), 1)  # as bits: a maximum of floats would pass over NaN
    most = (amax << 16).to(tl.float32, bitcast=True)
    scale, step = divisor_scale(most, share) if DIVIDES else multiplier_scale(most, share)
    tl.store(scales + of_group, scale.to(tl.uint8), mask=known)
    is_fast = ordinary(step, most) if FAST else False
    packed = of_group[:, None] * 8 + tl.arange(0, 4)[None, :]
    first_size, first_off = nvfp4_half(first, step, is_fast, codes + packed, known, FAST, GROUPS)
    second_size, second_off = nvfp4_half(second, step, is_fast, codes + packed + 4, known, FAST, GROUPS)
    run = row * tl.num_programs(1) + tl.program_id(1)
    tl.store(amaxes + run, tl.max(amax, 0))
    if MEASURE:
        top = tl.max(tl.where(known, step, 0.0), 0)
        part = tl.div_rn(step, tl.broadcast_to(tl.where(top == 0, 1.0, top), step.shape))[:, None]
        error = squares(first_off * part, second_off * part, 11)
        source = squares(first_size * part, second_size * part, 10)
        tl.store(steps + run, top)
        tl.store(errors + run, tl.sum(error.to(tl.int64), 0))
        tl.store(sources + run, tl.sum(source.to(tl.int64), 0))
        tl.store(largest + run, tl.max(tl.max(tl.maximum(first_off, second_off), 1), 0))


@triton.jit
def nvfp4_half(bits, step, is_fast, place, known, FAST: tl.constexpr, GROUPS: tl.constexpr):
    """Writes the codes of eight numbers of each group; magnitudes of their quotients, and how far off their values are."""
    signed = quotients((bits << 16).to(tl.float32, bitcast=True), step, is_fast, FAST)
    size = tl.abs(signed)
    code, value = nearest_e2m1(tl.minimum(size, 6.0))
    # the sign is the quotient's; adding zero takes it from a minus zero
    code = code | (((signed + 0.0).to(tl.int32, bitcast=True) >> 28) & 8)
    low, high = tl.split(tl.reshape(code, (GROUPS, 4, 2)))
    tl.store(place, (low | (high << 4)).to(tl.uint8), mask=known[:, None])
    return size, tl.abs(size - value)


@triton.jit
def squares(first, second, bits: tl.constexpr):
    """Squares of each group's sixteen numbers as multiples of 2^-bits, added up: they fit 32 bits."""
    one, other = multiples(first, bits), multiples(second, bits)
    return tl.sum(one * one + other * other, 1)


class Room:
    """Tensors that a kernel writes; `parts` is the number of blocks or runs whose squares are added apart."""

    def __init__(self, kernel: Kernel, weight: Tensor) -> None:
        rows, columns = weight.shape
        scale_type = torch.float32 if kernel.name == "fp8_block" else torch.uint8
        scales = kernel.scales_bytes(rows, columns, "BF16") // scale_type.itemsize
        parts = scales if kernel.name == "fp8_block" else rows * -(-columns // (16 * GROUPS))

        def empty(count: int, kind: torch.dtype) -> Tensor:
            return torch.empty(count, dtype=kind, device=weight.device)

        self.codes, self.scales = empty(kernel.code_bytes(rows, columns), torch.uint8), empty(scales, scale_type)
        self.steps, self.largest = empty(parts, torch.float32), empty(parts, torch.float32)
        self.errors, self.sources = empty(parts, torch.int64), empty(parts, torch.int64)
        self.amaxes = empty(parts, torch.int32)


def launch(kernel: Kernel, weight: Tensor, shared: Tensor | None, room: Room, measure: bool = True) -> None:
    """Rounds BF16 rows on the device they are on; interpreted (TRITON_INTERPRET=1) if that is a CPU. `shared` holds the
    global scale. NumPy, which interprets, has neither a fused multiply-add nor the processor's cast to E4M3."""
    (rows, columns), bits = weight.shape, weight.view(torch.int16)
    measured = (room.errors, room.sources, room.largest, room.amaxes)
    real = weight.is_cuda
    if kernel.name == "fp8_block":
        hardware = real and torch.cuda.get_device_capability(weight.device) >= (8, 9)
        fp8_block_kernel[(rows // 128, columns // 128)](
            bits, room.codes, room.scales, *measured, columns,
            HARDWARE=hardware, MEASURE=measure, num_warps=FP8_WARPS, enable_fp_fusion=False,
        )  # fmt: skip
    else:
        nvfp4_kernel[(triton.cdiv(rows, ROWS), triton.cdiv(columns, 16 * GROUPS))](
            bits, shared, room.codes, room.scales, room.steps, *measured, rows, columns // 16,
            DIVIDES=kernel.name == "nvfp4_divisor", ROWS=ROWS, GROUPS=GROUPS, FAST=real, MEASURE=measure,
            num_warps=WARPS, enable_fp_fusion=False,
        )  # fmt: skip


class TritonEncoder:
    """One kernel, for BF16."""

    path = "triton"
    dtypes: tuple[str, ...] = ("BF16",)

    def __init__(self, kernel: Kernel, device: str = "cuda") -> None:
        if not kernel.name.startswith(("fp8_block", "nvfp4")):
            raise PathMissing(f"there is no Triton kernel {kernel.name}")
        self.kernel, self.device = kernel, device

    def amax(self, strip: Strip) -> float:
        self.kernel.check(strip, self.dtypes)
        bits = amax_bits(strip_tensor(strip, self.device))
        if bits >= INFINITE["BF16"]:
            raise first_not_finite(strip)
        return float_of(bits << 16)

    def encode(self, strip: Strip, shared_amax: float | None = None) -> Encoded:
        self.kernel.check(strip, self.dtypes)
        scale = self.kernel.shared_scale(shared_amax, strip.dtype)
        weight = strip_tensor(strip, self.device)
        room = Room(self.kernel, weight)
        shared = None if scale is None else torch.tensor([scale], dtype=torch.float32, device=self.device)
        launch(self.kernel, weight, shared, room)
        amax = int(room.amaxes.amax())
        if amax >= INFINITE["BF16"]:
            raise first_not_finite(strip)
        if shared_amax is not None and float_of(amax << 16) > shared_amax:
            raise ValueError("the strip holds a number above the shared maximum")
        steps = room.scales if self.kernel.name == "fp8_block" else room.steps
        done = Rounded(room.codes, room.scales, steps, room.errors, room.sources, room.largest.amax())
        return Encoded(raw(done.codes), raw(done.scales), sums(self.kernel, done))
