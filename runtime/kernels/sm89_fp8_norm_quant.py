"""Residual add, RMSNorm and quantiser in one kernel; SwiGLU and quantiser in another. The BF16 path runs them without codes.

Roundings to BF16 are those of the unfused operations (reference.add_rms_norm, reference.swiglu), so only the order of the
sum of squares differs.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import sm89_fp8_act_quant
from .sm89_fp8_act_quant import Quant, quantise


LORA_SIZES = (64, 8)  # rows, warps: swept on an H200


@triton.jit
def summed(y_ptr, h_ptr, h_out_ptr, row, column, M, N, PARTS: tl.constexpr):
    """The stream's values at these columns with the update's parts added, written back where there are any."""
    keep = column < N
    h = tl.load(h_ptr + row * N + column, mask=keep, other=0.0)
    if PARTS > 0:
        y = tl.load(y_ptr + row * N + column, mask=keep, other=0.0).to(tl.float32)
        for part in tl.static_range(1, PARTS):
            y += tl.load(y_ptr + (row + part * M.to(tl.int64)) * N + column, mask=keep, other=0.0).to(tl.float32)
        h = (h.to(tl.float32) + y.to(h.dtype).to(tl.float32)).to(h.dtype)
        tl.store(h_out_ptr + row * N + column, h, mask=keep)
    return h


@triton.jit
def scaled(h, inverse, w_ptr, x_ptr, q_ptr, s_ptr, row, group, column, N, s_row, s_group, QUANT: tl.constexpr):
    """Writes the norm of these columns, and its codes and scales."""
    keep = column < N
    w = tl.load(w_ptr + column, mask=keep, other=0.0).to(tl.float32)
    x = (h.to(tl.float32) * inverse * (1.0 + w)).to(h.dtype)
    tl.store(x_ptr + row * N + column, x, mask=keep)
    if QUANT:
        q, scale = quantise(x.to(tl.float32))
        tl.store(q_ptr + row * N + column, q.to(q_ptr.dtype.element_ty), mask=keep)
        tl.store(s_ptr + row * s_row + group * s_group, scale, mask=group * 128 < N)


@triton.jit(do_not_specialize=["M"])
def add_norm_kernel(
    y_ptr, h_ptr, w_ptr, h_out_ptr, x_ptr, q_ptr, s_ptr, M, N, s_row, s_group, eps,
    PARTS: tl.constexpr, FIRST: tl.constexpr, REST: tl.constexpr, QUANT: tl.constexpr,
):  # fmt: skip
    # A row in two powers of two: 20 groups as 16 and 4. One of 32 would leave a third of the lanes without work.
    row = tl.program_id(0).to(tl.int64)
    g = tl.arange(0, FIRST)
    column = g[:, None] * 128 + tl.arange(0, 128)[None, :]
    h = summed(y_ptr, h_ptr, h_out_ptr, row, column, M, N, PARTS)
    squares = h.to(tl.float32) * h.to(tl.float32)
    total = tl.sum(tl.sum(squares, axis=1), axis=0)
    if REST > 0:
        g2 = FIRST + tl.arange(0, REST)
        column2 = g2[:, None] * 128 + tl.arange(0, 128)[None, :]
        h2 = summed(y_ptr, h_ptr, h_out_ptr, row, column2, M, N, PARTS)
        squares2 = h2.to(tl.float32) * h2.to(tl.float32)
        total += tl.sum(tl.sum(squares2, axis=1), axis=0)
    inverse = tl.rsqrt(total / N + eps)
    scaled(h, inverse, w_ptr, x_ptr, q_ptr, s_ptr, row, g, column, N, s_row, s_group, QUANT)
    if REST > 0:
        scaled(h2, inverse, w_ptr, x_ptr, q_ptr, s_ptr, row, g2, column2, N, s_row, s_group, QUANT)


@triton.jit
def swiglu_kernel(y_ptr, x_ptr, q_ptr, s_ptr, N, s_row, s_group, GROUPS: tl.constexpr, QUANT: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    g = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    column = g[:, None] * 128 + tl.arange(0, 128)[None, :]
    keep = column < N
    gate = tl.load(y_ptr + row * 2 * N + column, mask=keep, other=0.0)
    up = tl.load(y_ptr + row * 2 * N + N + column, mask=keep, other=0.0)
    wide = gate.to(tl.float32)
    x = ((wide / (1.0 + tl.exp(-wide))).to(gate.dtype).to(tl.float32) * up.to(tl.float32)).to(gate.dtype)
    tl.store(x_ptr + row * N + column, x, mask=keep)
    if QUANT:
        q, scale = quantise(x.to(tl.float32))
        tl.store(q_ptr + row * N + column, q.to(q_ptr.dtype.element_ty), mask=keep)
        tl.store(s_ptr + row * s_row + g * s_group, scale, mask=g * 128 < N)


@triton.jit(do_not_specialize=["M"])
def swiglu_lora_kernel(
    y_ptr, t_ptr, up_ptr, x_ptr, q_ptr, s_ptr, M, N, t_stride, s_row, s_group,
    ROWS: tl.constexpr, RANK: tl.constexpr, QUANT: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * 128 + tl.arange(0, 128)
    r = tl.arange(0, RANK)
    row = (rows % M).to(tl.int64)[:, None]
    y = y_ptr + row * 2 * N + column[None, :]
    t = t_ptr + row * t_stride + r[None, :]
    up = up_ptr + column[None, :] * RANK + r[:, None]
    gate = tl.dot(tl.load(t), tl.load(up), tl.load(y).to(tl.float32)).to(x_ptr.dtype.element_ty)
    other = tl.dot(tl.load(t + RANK), tl.load(up + N * RANK), tl.load(y + N).to(tl.float32)).to(x_ptr.dtype.element_ty)
    wide = gate.to(tl.float32)
    x = ((wide / (1.0 + tl.exp(-wide))).to(gate.dtype).to(tl.float32) * other.to(tl.float32)).to(gate.dtype)
    keep = rows < M
    tl.store(x_ptr + row * N + column[None, :], x, mask=keep[:, None])
    if QUANT:
        q, scale = quantise(x.to(tl.float32))
        tl.store(q_ptr + row * N + column[None, :], q.to(q_ptr.dtype.element_ty), mask=keep[:, None])
        tl.store(s_ptr + rows.to(tl.int64) * s_row + tl.program_id(1) * s_group, scale, mask=keep)


def quantised_like(x: torch.Tensor, quant: Quant) -> tuple[torch.Tensor | None, torch.Tensor | None, tuple[int, int]]:
    """Room for the codes and scales of x (M, K), or nothing; the strides of the scales."""
    if not quant:
        return None, None, (0, 0)
    codes = torch.empty(x.shape, dtype=sm89_fp8_act_quant.CODES, device=x.device)
    scale = sm89_fp8_act_quant.scales_of(x.shape[0], x.shape[1], x.device, quant)
    return codes, scale, scale.stride()


def add_norm(
    update: torch.Tensor | None, residual: torch.Tensor, weight: torch.Tensor, eps: float, quant: Quant, warps: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(residual + update, norm, codes, scales). `update` is None, (M, N), or FP32 parts (P, M, N)."""
    m, n = residual.shape
    parts = 0 if update is None else 1 if update.dim() == 2 else update.shape[0]
    out = torch.empty_like(residual) if parts else residual
    x = torch.empty_like(residual)
    codes, scale, strides = quantised_like(x, quant)
    first = 1 << (triton.cdiv(n, 128).bit_length() - 1)
    rest = triton.next_power_of_2(triton.cdiv(n, 128) - first) if triton.cdiv(n, 128) > first else 0
    add_norm_kernel[(m,)](
        residual if update is None else update, residual, weight, out, x, x if codes is None else codes,
        x if scale is None else scale, m, n, *strides, eps,
        PARTS=parts, FIRST=first, REST=rest, QUANT=bool(quant), num_warps=warps or (4 if n <= 1024 else 16 if m <= 64 else 8),
    )  # fmt: skip
    return out, x, codes, scale


def swiglu(
    gate_up: torch.Tensor, pending: tuple[torch.Tensor, torch.Tensor | None] | None, quant: Quant, sizes: tuple[int, int] | None = None
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(silu(gate) * up, codes, scales) of (M, 2 N); `pending` (t, up) is an adapter's product that comes to it first."""
    m, n = gate_up.shape[0], gate_up.shape[1] // 2
    x = torch.empty(m, n, dtype=gate_up.dtype, device=gate_up.device)
    codes, scale, strides = quantised_like(x, quant)
    if pending is not None:
        t, up = pending
        rows, warps = sizes or LORA_SIZES
        swiglu_lora_kernel[(triton.cdiv(m, rows), n // 128)](
            gate_up, t, up, x, x if codes is None else codes, x if scale is None else scale, m, n, t.stride(0), *strides,
            ROWS=rows, RANK=up.shape[1], QUANT=bool(quant), num_warps=warps,
        )  # fmt: skip
        return x, codes, scale
    size = 8 if m <= 256 else 16
    swiglu_kernel[(m, triton.cdiv(n // 128, size))](
        gate_up, x, x if codes is None else codes, x if scale is None else scale, n, *strides,
        GROUPS=size, QUANT=bool(quant), num_warps=4,
    )  # fmt: skip
    return x, codes, scale
