"""Residual add, RMSNorm and quantiser in one kernel; SwiGLU and quantiser in another. The BF16 path runs them without codes.

Roundings to BF16 are those of the unfused operations (reference.add_rms_norm, reference.swiglu), so only the order of the
sum of squares differs.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import sm89_fp8_act_quant
from .sm89_fp8_act_quant import quantise


@triton.jit(do_not_specialize=["M"])
def add_norm_kernel(
    y_ptr, h_ptr, w_ptr, h_out_ptr, x_ptr, q_ptr, s_ptr, M, N, eps,
    PARTS: tl.constexpr, GROUPS: tl.constexpr, QUANT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    g = tl.arange(0, GROUPS)
    column = g[:, None] * 128 + tl.arange(0, 128)[None, :]
    keep = column < N
    h = tl.load(h_ptr + row * N + column, mask=keep, other=0.0)
    if PARTS > 0:
        y = tl.load(y_ptr + row * N + column, mask=keep, other=0.0).to(tl.float32)
        for part in tl.static_range(1, PARTS):
            y += tl.load(y_ptr + (row + part * M.to(tl.int64)) * N + column, mask=keep, other=0.0).to(tl.float32)
        h = (h.to(tl.float32) + y.to(h.dtype).to(tl.float32)).to(h.dtype)
        tl.store(h_out_ptr + row * N + column, h, mask=keep)
    x = h.to(tl.float32)
    mean = tl.sum(tl.sum(x * x, axis=1), axis=0) / N
    w = tl.load(w_ptr + column, mask=keep, other=0.0).to(tl.float32)
    x = (x * tl.rsqrt(mean + eps) * (1.0 + w)).to(h.dtype)
    tl.store(x_ptr + row * N + column, x, mask=keep)
    if QUANT:
        q, scale = quantise(x.to(tl.float32))
        tl.store(q_ptr + row * N + column, q.to(q_ptr.dtype.element_ty), mask=keep)
        tl.store(s_ptr + row * (N // 128) + g, scale, mask=g * 128 < N)


@triton.jit
def swiglu_kernel(y_ptr, x_ptr, q_ptr, s_ptr, N, groups, GROUPS: tl.constexpr, QUANT: tl.constexpr):
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
        tl.store(s_ptr + row * groups + g, scale, mask=g < groups)


@triton.jit(do_not_specialize=["M"])
def swiglu_lora_kernel(
    y_ptr, t_ptr, up_ptr, x_ptr, q_ptr, s_ptr, M, N, t_stride,
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
        tl.store(s_ptr + (rows % M).to(tl.int64) * (N // 128) + tl.program_id(1), scale, mask=keep)


def quantised_like(x: torch.Tensor, quant: bool) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Room for the codes and scales of x (M, K), or nothing."""
    if not quant:
        return None, None
    codes = torch.empty(x.shape, dtype=sm89_fp8_act_quant.CODES, device=x.device)
    return codes, torch.empty(x.shape[0], x.shape[1] // 128, dtype=torch.float32, device=x.device)


def add_norm(
    update: torch.Tensor | None, residual: torch.Tensor, weight: torch.Tensor, eps: float, quant: bool, warps: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(residual + update, norm, codes, scales). `update` is None, (M, N), or FP32 parts (P, M, N)."""
    m, n = residual.shape
    parts = 0 if update is None else 1 if update.dim() == 2 else update.shape[0]
    out = torch.empty_like(residual) if parts else residual
    x = torch.empty_like(residual)
    codes, scale = quantised_like(x, quant)
    add_norm_kernel[(m,)](
        residual if update is None else update, residual, weight, out, x, x if codes is None else codes,
        x if scale is None else scale, m, n, eps,
        PARTS=parts, GROUPS=triton.next_power_of_2(n // 128), QUANT=quant, num_warps=warps or (4 if n <= 1024 else 16 if m <= 256 else 8),
    )  # fmt: skip
    return out, x, codes, scale


def swiglu(
    gate_up: torch.Tensor, pending: tuple[torch.Tensor, torch.Tensor | None] | None, quant: bool, sizes: tuple[int, int] = (32, 4)
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(silu(gate) * up, codes, scales) of (M, 2 N); `pending` (t, up) is an adapter's product that comes to it first."""
    m, n = gate_up.shape[0], gate_up.shape[1] // 2
    x = torch.empty(m, n, dtype=gate_up.dtype, device=gate_up.device)
    codes, scale = quantised_like(x, quant)
    if pending is not None:
        t, up = pending
        rows, warps = sizes  # swept on an H200: 136 us at 4,096 rows of 18,432 against 169 with 64 rows
        swiglu_lora_kernel[(triton.cdiv(m, rows), n // 128)](
            gate_up, t, up, x, x if codes is None else codes, x if scale is None else scale, m, n, t.stride(0),
            ROWS=rows, RANK=up.shape[1], QUANT=quant, num_warps=warps,
        )  # fmt: skip
        return x, codes, scale
    size = 8 if m <= 256 else 16
    swiglu_kernel[(m, triton.cdiv(n // 128, size))](
        gate_up, x, x if codes is None else codes, x if scale is None else scale, n, n // 128,
        GROUPS=size, QUANT=quant, num_warps=4,
    )  # fmt: skip
    return x, codes, scale
