"""Around full attention: head norm and rotation of q and k before it, the output gate and quantiser after it.

The projections stay one (rows, q and gate by head | k | v) tensor; q and k are written rotated, v is read where it is.
Norm, rotation and product are FP32 with one rounding; transformers rounds between them (tolerance in tests/runtime_kernels).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .sm89_fp8_act_quant import Quant, quantise
from .sm89_fp8_norm_quant import quantised_like


@triton.jit(do_not_specialize=["M"])
def head_norm_rotary_kernel(
    y_ptr, qw_ptr, kw_ptr, table_ptr, q_ptr, k_ptr, M, y_stride, eps,
    QH: tl.constexpr, KH: tl.constexpr, D: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    c = tl.arange(0, D)
    is_query = head < QH
    start = tl.where(is_query, head * 2 * D, QH * 2 * D + (head - QH) * D)
    # The value that c is rotated with: HALF columns on, or HALF columns back.
    other = tl.where(c < HALF, c + HALF, tl.where(c < 2 * HALF, c - HALF, c))
    x = tl.load(y_ptr + row * y_stride + start + c).to(tl.float32)
    y = tl.load(y_ptr + row * y_stride + start + other).to(tl.float32)
    if is_query:
        wx, wy = tl.load(qw_ptr + c).to(tl.float32), tl.load(qw_ptr + other).to(tl.float32)
    else:
        wx, wy = tl.load(kw_ptr + c).to(tl.float32), tl.load(kw_ptr + other).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
    x, y = x * inverse * (1.0 + wx), y * inverse * (1.0 + wy)
    angle = c % HALF
    turned = c < 2 * HALF
    cos = tl.load(table_ptr + row * HALF + angle, mask=turned, other=1.0).to(tl.float32)
    sin = tl.load(table_ptr + (M + row) * HALF + angle, mask=turned, other=0.0).to(tl.float32)
    x = x * cos + tl.where(c < HALF, -y, y) * sin
    if is_query:
        tl.store(q_ptr + (row * QH + head) * D + c, x.to(q_ptr.dtype.element_ty))
    else:
        tl.store(k_ptr + (row * KH + head - QH) * D + c, x.to(k_ptr.dtype.element_ty))


@triton.jit(do_not_specialize=["M"])
def sigmoid_gate_kernel(
    o_ptr, y_ptr, x_ptr, q_ptr, s_ptr, M, y_stride, N, s_row, s_group, ROWS: tl.constexpr, D: tl.constexpr, QUANT: tl.constexpr
):  # fmt: skip
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * 128 + tl.arange(0, 128)
    keep = (row < M)[:, None]
    at = row[:, None] * N + column[None, :]
    o = tl.load(o_ptr + at, mask=keep, other=0.0)
    behind = (column // D) * 2 * D + D + column % D  # the gate stands behind its head's query
    gate = tl.load(y_ptr + row[:, None] * y_stride + behind[None, :], mask=keep, other=0.0).to(tl.float32)
    gate = (1.0 / (1.0 + tl.exp(-gate))).to(o.dtype).to(tl.float32)
    x = (o.to(tl.float32) * gate).to(o.dtype)
    tl.store(x_ptr + at, x, mask=keep)
    if QUANT:
        q, scale = quantise(x.to(tl.float32))
        tl.store(q_ptr + at, q.to(q_ptr.dtype.element_ty), mask=keep)
        tl.store(s_ptr + row * s_row + tl.program_id(1) * s_group, scale, mask=row < M)


def head_norm_rotary(
    mixed: torch.Tensor, q_weight: torch.Tensor, k_weight: torch.Tensor, table: torch.Tensor, heads: tuple[int, int], eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Normed and rotated (q, k), each (rows, heads, dim), of mixed (rows, q and gate by head | k | …)."""
    m, dim = mixed.shape[0], q_weight.shape[0]
    q, k = mixed.new_empty(m, heads[0], dim), mixed.new_empty(m, heads[1], dim)
    head_norm_rotary_kernel[(m, heads[0] + heads[1])](
        mixed, q_weight, k_weight, table, q, k, m, mixed.stride(0), eps,
        QH=heads[0], KH=heads[1], D=dim, HALF=table.shape[-1], num_warps=1,
    )  # fmt: skip
    return q, k


def sigmoid_gate(
    x: torch.Tensor, mixed: torch.Tensor, dim: int, quant: Quant
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(x * sigmoid(gate), codes, scales): x contiguous (rows, heads x dim), the gates where `mixed` has them."""
    m, n = x.shape
    out = torch.empty_like(x)
    codes, scale, strides = quantised_like(out, quant)
    rows = 4 if m <= 256 else 16
    sigmoid_gate_kernel[(triton.cdiv(m, rows), n // 128)](
        x, mixed, out, out if codes is None else codes, out if scale is None else scale, m, mixed.stride(0), n, *strides,
        ROWS=rows, D=dim, QUANT=bool(quant), num_warps=2 if rows == 4 else 4,
    )  # fmt: skip
    return out, codes, scale
