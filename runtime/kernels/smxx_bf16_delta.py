"""Around the gated delta rule: short convolution, unit q and k, gates before it; gated norm and quantiser after it.

One launch prepares everything that the rule needs from the concatenated projections (q|k|v|z, a|b): transformers takes a
transpose, a depthwise convolution, a SiLU, three copies, two norms and six elementwise kernels for it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .sm89_fp8_act_quant import Quant, quantise
from .sm89_fp8_norm_quant import quantised_like

CHUNK = tl.constexpr(64)  # tokens whose log decays are summed up together: the delta rule's chunk
TOKENS = 32  # that a program convolves: swept on an H200, 56 us at 4,096 against 70 with 64


@triton.jit(do_not_specialize=["T"])
def delta_inputs_kernel(
    y_ptr, w_ptr, ab_ptr, a_log_ptr, bias_ptr, q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr,
    T, y_stride, ab_stride, scale,
    KH: tl.constexpr, VH: tl.constexpr, D: tl.constexpr, TAPS: tl.constexpr, BT: tl.constexpr, VH2: tl.constexpr,
    SUM: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    batch = tl.program_id(2).to(tl.int64)
    if head < 2 * KH + VH:
        t = tl.program_id(0) * BT + tl.arange(0, BT)
        inside = t < T
        row = batch * T + t
        c = tl.arange(0, D)
        channel = head * D + c
        x = tl.zeros((BT, D), dtype=tl.float32)
        for tap in tl.static_range(TAPS):
            back = TAPS - 1 - tap
            w = tl.load(w_ptr + channel * TAPS + tap).to(tl.float32)
            at = y_ptr + (row - back)[:, None] * y_stride + channel[None, :]
            x += tl.load(at, mask=(inside & (t >= back))[:, None], other=0.0).to(tl.float32) * w[None, :]
        x = x.to(y_ptr.dtype.element_ty).to(tl.float32)
        x = (x / (1.0 + tl.exp(-x))).to(y_ptr.dtype.element_ty)
        keep = inside[:, None]
        if head < 2 * KH:
            wide = x.to(tl.float32)
            x = (wide * tl.rsqrt(tl.sum(wide * wide, axis=1) + 1e-6)[:, None]).to(x.dtype)
        if head < KH:
            tl.store(q_ptr + (row[:, None] * KH + head) * D + c[None, :], x, mask=keep)
        elif head < 2 * KH:
            tl.store(k_ptr + (row[:, None] * KH + (head - KH)) * D + c[None, :], x, mask=keep)
        else:
            tl.store(v_ptr + (row[:, None] * VH + (head - 2 * KH)) * D + c[None, :], x, mask=keep)
    elif tl.program_id(0) % (CHUNK // BT) == 0:
        token = tl.program_id(0) * BT + tl.arange(0, CHUNK)
        there = token < T
        line = batch * T + token
        h = tl.arange(0, VH2)
        known = there[:, None] & (h < VH)[None, :]
        gates = ab_ptr + line[:, None] * ab_stride + h[None, :]
        a = tl.load(gates, mask=known, other=0.0).to(tl.float32)
        b = tl.load(gates + VH, mask=known, other=0.0).to(tl.float32)
        a += tl.load(bias_ptr + h, mask=h < VH, other=0.0).to(tl.float32)[None, :]
        rate = tl.exp(tl.load(a_log_ptr + h, mask=h < VH, other=0.0).to(tl.float32))
        soft = tl.where(a > 20.0, a, tl.log(1.0 + tl.exp(tl.minimum(a, 20.0))))
        decay = tl.where(known, -rate[None, :] * soft, 0.0)
        if SUM:
            decay = tl.cumsum(decay, axis=0) * scale
        tl.store(g_ptr + line[:, None] * VH + h[None, :], decay, mask=known)
        beta = (1.0 / (1.0 + tl.exp(-b))).to(beta_ptr.dtype.element_ty)
        tl.store(beta_ptr + line[:, None] * VH + h[None, :], beta, mask=known)


@triton.jit(do_not_specialize=["M"])
def gated_norm_kernel(
    o_ptr, z_ptr, w_ptr, x_ptr, q_ptr, s_ptr, M, z_stride, N, s_row, s_group, eps,
    ROWS: tl.constexpr, D: tl.constexpr, QUANT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * 128 + tl.arange(0, 128)
    keep = (row < M)[:, None]
    at = row.to(tl.int64)[:, None] * N + column[None, :]
    o = tl.load(o_ptr + at, mask=keep, other=0.0).to(tl.float32)
    z = tl.load(z_ptr + row.to(tl.int64)[:, None] * z_stride + column[None, :], mask=keep, other=0.0)
    w = tl.load(w_ptr + column % D).to(tl.float32)
    heads = tl.reshape(o, (ROWS, 128 // D, D))
    inverse = tl.rsqrt(tl.sum(heads * heads, axis=2) / D + eps)
    o = tl.reshape(heads * inverse[:, :, None], (ROWS, 128)).to(z.dtype).to(tl.float32)
    gate = z.to(tl.float32)
    x = (o * w[None, :]).to(w_ptr.dtype.element_ty).to(tl.float32) * (gate / (1.0 + tl.exp(-gate)))
    x = x.to(z.dtype)
    tl.store(x_ptr + at, x, mask=keep)
    if QUANT:
        q, scale = quantise(x.to(tl.float32))
        tl.store(q_ptr + at, q.to(q_ptr.dtype.element_ty), mask=keep)
        tl.store(s_ptr + row.to(tl.int64) * s_row + tl.program_id(1) * s_group, scale, mask=row < M)


def delta_inputs(
    mixed: torch.Tensor,
    ab: torch.Tensor,
    conv: torch.Tensor,
    a_log: torch.Tensor,
    dt_bias: torch.Tensor,
    shape: tuple[int, int],
    heads: tuple[int, int],
    dim: int,
    decay_scale: float | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(q, k, v, log decay, beta) of mixed (rows, q|k|v|…) and ab (rows, a|b); either may be a view of wider rows.

    With `decay_scale` the log decay is summed up within each CHUNK of tokens and scaled, as the chunked rule wants it.
    """
    batch, tokens = shape
    key_heads, value_heads = heads
    new = mixed.new_empty
    q, k = new(batch, tokens, key_heads, dim), new(batch, tokens, key_heads, dim)
    v, beta = new(batch, tokens, value_heads, dim), new(batch, tokens, value_heads)
    decay = torch.empty(batch, tokens, value_heads, dtype=torch.float32, device=mixed.device)
    delta_inputs_kernel[(triton.cdiv(tokens, TOKENS), 2 * key_heads + value_heads + 1, batch)](
        mixed, conv, ab, a_log, dt_bias, q, k, v, decay, beta,
        tokens, mixed.stride(0), ab.stride(0), 1.0 if decay_scale is None else decay_scale,
        KH=key_heads, VH=value_heads, D=dim, TAPS=conv.shape[1], BT=TOKENS, VH2=triton.next_power_of_2(value_heads),
        SUM=decay_scale is not None, num_warps=4,
    )  # fmt: skip
    return q, k, v, decay, beta


def gated_norm(
    x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float, quant: Quant
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(norm(x) * silu(gate), codes, scales): x contiguous (rows, heads, dim), gate a (rows, heads x dim) view."""
    m, n = gate.shape
    out = torch.empty(m, n, dtype=gate.dtype, device=gate.device)
    codes, scale, strides = quantised_like(out, quant)
    rows = 4 if m <= 256 else 16
    gated_norm_kernel[(triton.cdiv(m, rows), n // 128)](
        x, gate, weight, out, out if codes is None else codes, out if scale is None else scale, m, gate.stride(0), n, *strides, eps,
        ROWS=rows, D=weight.shape[0], QUANT=bool(quant), num_warps=2 if rows == 4 else 4,
    )  # fmt: skip
    return out, codes, scale
