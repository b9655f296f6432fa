"""The activation quantiser in Triton, alone and as a part of other kernels: E4M3, groups of 1 x 128, K-major FP32 scales.

Bit-equal to reference.act_quant: quotients are those of an IEEE division. They come from the group's correctly rounded
reciprocal and two fused multiply-adds (P. Markstein, IBM J. Res. Dev. 34, 1990), a third of the instructions of a division.
"""

from __future__ import annotations

from typing import Literal

import torch
import triton
import triton.language as tl

FLOOR = tl.constexpr(1e-10)  # reference.AMAX_FLOOR
Quant = bool | Literal["columns"]  # False: no codes; True: scales (M, K/128) contiguous; "columns": the same transposed in memory
CODES = torch.float8_e4m3fn  # what codes are stored as; the interpreter tests put FP32 here, its cast to FP8 is wrong


@triton.jit
def quantise(x):
    """Codes (FP32 still) and scales of x (groups, 128) FP32. The maximum leaves NaN out; division and cast keep it."""
    amax = tl.max(tl.where(x == x, tl.abs(x), 0.0), axis=1)  # noqa: PLR0124  (false for NaN)
    scale = tl.div_rn(tl.maximum(amax, FLOOR), tl.full(amax.shape, 448.0, tl.float32))
    inverse = tl.broadcast_to(tl.div_rn(tl.full(scale.shape, 1.0, tl.float32), scale)[:, None], x.shape)
    # An infinite scale makes finite values 0 and infinite ones NaN, as the division does: it has no remainder to correct.
    finite = tl.broadcast_to(tl.where(scale < float("inf"), scale, 0.0)[:, None], x.shape)
    quotient = x * inverse
    return tl.fma(tl.fma(-quotient, finite, x), inverse, quotient), scale


@triton.jit(do_not_specialize=["groups"])
def act_quant_kernel(x_ptr, q_ptr, s_ptr, groups, GROUPS: tl.constexpr):
    g = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    keep = g < groups
    offset = g.to(tl.int64)[:, None] * 128 + tl.arange(0, 128)[None, :]
    x = tl.load(x_ptr + offset, mask=keep[:, None], other=0.0).to(tl.float32)
    q, scale = quantise(x)
    tl.store(q_ptr + offset, q.to(q_ptr.dtype.element_ty), mask=keep[:, None])
    tl.store(s_ptr + g, scale, mask=keep)


def blocks(groups: int) -> tuple[int, int]:
    """(groups a program, warps). Swept on an H200: 2.4 us at 256 x 2560, 36 us at 16,384 x 2560 (64, 8: 3.5 and 38 us)."""
    return (16, 2) if groups >= 128 * 1024 else (8, 4)


def scales_of(m: int, k: int, device: torch.device, quant: Quant) -> torch.Tensor:
    """Room for scales (M, K/128), contiguous along K or, with "columns", along M (as torch's SM90 product reads them)."""
    if quant == "columns":
        return torch.empty(k // 128, m, dtype=torch.float32, device=device).t()
    return torch.empty(m, k // 128, dtype=torch.float32, device=device)


def act_quant(x: torch.Tensor, sizes: tuple[int, int] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales of contiguous x (M, K), K a multiple of 128."""
    codes = torch.empty(x.shape, dtype=CODES, device=x.device)
    scale = torch.empty(x.shape[0], x.shape[1] // 128, dtype=torch.float32, device=x.device)
    size, warps = sizes or blocks(scale.numel())
    act_quant_kernel[(triton.cdiv(scale.numel(), size),)](x, codes, scale, scale.numel(), GROUPS=size, num_warps=warps)
    return codes, scale
