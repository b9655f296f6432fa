"""Every operation of the runtime in plain torch: what the tests trust, and what a CPU runs.

Roundings are where the model's own code (transformers' Qwen3.5) has them: a tensor that it keeps in BF16 between two
operations is rounded to the input's dtype here too. Activations are (rows, columns), rows = batch x tokens.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

GROUP = 128  # columns that share an activation scale; rows and columns that share a weight scale
E4M3_MAX = 448.0
AMAX_FLOOR = 1e-10  # zero groups: FlashInfer's and vLLM's rule, amax is raised to this first
E4M3_VALUES = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float()  # by code


def widened(codes: torch.Tensor) -> torch.Tensor:
    """FP32 values of E4M3 codes. A CPU looks them up: that is five times faster than torch's conversion."""
    if codes.device.type != "cpu":
        return codes.float()
    return E4M3_VALUES.index_select(0, codes.contiguous().view(torch.uint8).flatten().int()).view(codes.shape)


def product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x (M, K) times weight (N, K)^T, summed in FP32, rounded once. A CPU's own BF16 product may be ten times slower than FP32's."""
    if x.device.type != "cpu":
        return x @ weight.t()
    return (x.float() @ weight.float().t()).to(x.dtype)


def act_quant(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """E4M3 codes and one FP32 scale for each row and 128 columns.

    A NaN becomes a NaN code and doesn't count in its group's scale; an infinity makes the scale infinite, its own code NaN
    and the others zero: either way the row's products are NaN, never a number. No clamp: |x / scale| rounds to 448 at most.
    """
    groups = x.float().unflatten(-1, (-1, GROUP))
    amax = groups.abs().nan_to_num(nan=0.0, posinf=torch.inf).amax(-1)
    scale = amax.clamp_min(AMAX_FLOOR) / torch.full_like(amax, E4M3_MAX)  # a number would be multiplied by its inverse on CUDA
    return (groups / scale.unsqueeze(-1)).flatten(-2).to(torch.float8_e4m3fn), scale


def dequantise_weight(codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """FP32 weight of a block-FP8 matrix (N, K) with scales (N/128, K/128)."""
    spread = scale.repeat_interleave(GROUP, 0).repeat_interleave(GROUP, 1)
    return widened(codes) * spread[: codes.shape[0], : codes.shape[1]]


def fp8_block_gemm(codes: torch.Tensor, scale: torch.Tensor, weight: torch.Tensor, weight_scale: torch.Tensor) -> torch.Tensor:
    """FP32 product of quantised activations (M, K) and a block-FP8 weight (N, K)."""
    x = (widened(codes).unflatten(-1, (-1, GROUP)) * scale.unsqueeze(-1)).flatten(-2)
    return x @ dequantise_weight(weight, weight_scale).t()


def add_rms_norm(
    update: torch.Tensor | None, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """(residual + update, its zero-centred RMSNorm). `update` may be FP32 parts of a sum, (parts, rows, columns)."""
    if update is not None:
        whole = update.float().sum(0) if update.dim() == residual.dim() + 1 else update
        residual = residual + whole.to(residual.dtype)
    x = residual.float()
    x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * (1.0 + weight.float())
    return residual, x.to(residual.dtype)


def swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up of a (rows, 2 x width) tensor."""
    gate, up = gate_up.chunk(2, -1)
    return F.silu(gate) * up


def short_conv(
    mixed: torch.Tensor, weight: torch.Tensor, shape: tuple[int, int], heads: tuple[int, int], dim: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Causal depthwise convolution and SiLU of q|k|v, then unit q and k per head. weight is (channels, taps)."""
    batch, tokens = shape
    key_heads, value_heads = heads
    channels = (2 * key_heads + value_heads) * dim
    x = mixed[:, :channels].reshape(batch, tokens, channels).transpose(1, 2).to(weight.dtype)
    x = F.conv1d(x.float(), weight.float().unsqueeze(1), padding=weight.shape[1] - 1, groups=channels)[..., :tokens]
    x = F.silu(x.to(weight.dtype))
    x = x.transpose(1, 2).to(mixed.dtype).unflatten(-1, (-1, dim))
    q, k, v = x.split((key_heads, key_heads, value_heads), 2)
    return unit(q), unit(k), v.contiguous()


def unit(x: torch.Tensor) -> torch.Tensor:
    """x over its length along the last axis, as the flash-linear-attention library has it."""
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).sum(-1, keepdim=True) + 1e-6)).to(x.dtype)


def delta_gates(a: torch.Tensor, b: torch.Tensor, a_log: torch.Tensor, dt_bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(log decay, FP32; beta) of the gated delta rule."""
    return -a_log.float().exp() * F.softplus(a.float() + dt_bias.float()), b.sigmoid()


def delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """Gated delta rule, chunk by chunk, FP32. q, k (batch, tokens, key heads, dim), unit; v, decay, beta by value head."""
    chunk, (batch, tokens, heads, width) = 64, v.shape
    repeat = heads // q.shape[2]
    pad = -tokens % chunk
    q, k = (x.repeat_interleave(repeat, 2) for x in (q, k))
    q, k, v = (F.pad(x.float().transpose(1, 2), (0, 0, 0, pad)).unflatten(2, (-1, chunk)) for x in (q, k, v))
    decay, beta = (F.pad(x.float().transpose(1, 2), (0, pad)).unflatten(2, (-1, chunk)) for x in (decay, beta))
    q, total = q * q.shape[-1] ** -0.5, decay.cumsum(-1)
    upper = torch.ones(chunk, chunk, dtype=torch.bool, device=q.device).triu(1)
    between = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(upper, float("-inf")).exp()
    kb = k * beta.unsqueeze(-1)
    system = (kb @ k.transpose(-1, -2) * between).tril(-1) + torch.eye(chunk, device=q.device)
    new_v = torch.linalg.solve_triangular(system, v * beta.unsqueeze(-1), upper=False, unitriangular=True)
    old_k = torch.linalg.solve_triangular(system, kb * total.exp().unsqueeze(-1), upper=False, unitriangular=True)
    inside = q @ k.transpose(-1, -2) * between
    q, k = q * total.exp().unsqueeze(-1), k * (total[..., -1:] - total).exp().unsqueeze(-1)
    state = torch.zeros(batch, heads, k.shape[-1], width, device=q.device)
    out = torch.empty_like(v)
    for i in range(v.shape[2]):
        fresh = new_v[:, :, i] - old_k[:, :, i] @ state
        out[:, :, i] = q[:, :, i] @ state + inside[:, :, i] @ fresh
        state = state * total[:, :, i, -1].exp()[..., None, None] + k[:, :, i].transpose(-1, -2) @ fresh
    return out.flatten(2, 3)[:, :, :tokens].transpose(1, 2).contiguous()


def gated_norm(x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """RMSNorm per head (plain weight), times silu(gate). x, gate (rows, heads, dim); the result is (rows, heads x dim)."""
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    y = weight * y.to(gate.dtype)
    return (y * F.silu(gate.float())).to(gate.dtype).flatten(-2)


def rotary_table(positions: torch.Tensor, inverse: torch.Tensor, axis: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(2, rows, rotated / 2): cosines and sines, rounded to `dtype` as transformers does. positions (3, rows)."""
    angle = positions.float()[axis].t() * inverse
    return torch.stack((angle.cos(), angle.sin())).to(dtype)


def head_norm_rotary(x: torch.Tensor, weight: torch.Tensor, table: torch.Tensor, eps: float) -> torch.Tensor:
    """Zero-centred RMSNorm per head, then rotation of the first 2 x table width values. x (rows, heads, dim)."""
    y = x.float()
    y = (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps) * (1.0 + weight.float())).to(x.dtype)
    half = table.shape[-1]
    cos, sin = table[0].unsqueeze(1), table[1].unsqueeze(1)
    first, second, rest = y[..., :half], y[..., half : 2 * half], y[..., 2 * half :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin, rest), -1)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal attention with grouped keys; all (batch, tokens, heads, dim)."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)


def sigmoid_gate(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    """x * sigmoid(gate), elementwise."""
    return x * torch.sigmoid(gate)


def lora(x: torch.Tensor, down: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """What a LoRA adapter adds: (x A^T) (B s)^T in the adapter's arithmetic; the scale s is already in `up`."""
    return (x @ down.t()) @ up.t()


def readout(state: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """FP32 logits of the last token's final-norm state against FP32 readout rows."""
    return state.float() @ rows.t()
