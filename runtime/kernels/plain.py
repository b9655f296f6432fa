"""The operations of reference.py with the signatures that the model calls: the CPU's path, and the fused ones' yardstick."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from . import reference
from .linear_backends import add_lora

Pending = tuple[torch.Tensor, torch.Tensor | None] | None  # linear.Pending
Quantised = tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]


def quantised(x: torch.Tensor, quant: bool | str) -> Quantised:
    """(x, codes, scales), the last two None without `quant`."""
    return (x, *reference.act_quant(x)) if quant else (x, None, None)


def add_norm(
    update: torch.Tensor | None, residual: torch.Tensor, weight: torch.Tensor, eps: float, quant: bool | str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """See sm89_fp8_norm_quant.add_norm."""
    residual, x = reference.add_rms_norm(update, residual, weight, eps)
    return (residual, *quantised(x, quant))


def swiglu(gate_up: torch.Tensor, pending: Pending, quant: bool | str) -> Quantised:
    """See sm89_fp8_norm_quant.swiglu."""
    if pending is not None:
        gate_up = add_lora(gate_up.clone(), *pending, (gate_up.shape[1] // 2,))
    return quantised(reference.swiglu(gate_up), quant)


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
    """See smxx_bf16_delta.delta_inputs."""
    q, k, v = reference.short_conv(mixed, conv, shape, heads, dim)
    a, b = (x.reshape(*shape, heads[1]) for x in ab[:, : 2 * heads[1]].split(heads[1], -1))
    decay, beta = reference.delta_gates(a, b, a_log, dt_bias)
    if decay_scale is not None:
        padded = F.pad(decay, (0, 0, 0, -shape[1] % 64)).unflatten(1, (-1, 64))
        decay = (padded.cumsum(2) * decay_scale).flatten(1, 2)[:, : shape[1]].contiguous()
    return q, k, v, decay, beta


def delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """See smxx_bf16_delta_rule.delta_rule; here `decay` is not summed up."""
    return reference.delta_rule(q, k, v, decay, beta).to(q.dtype)


def gated_norm(x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float, quant: bool | str) -> Quantised:
    """See smxx_bf16_delta.gated_norm."""
    dim = weight.shape[0]
    return quantised(reference.gated_norm(x.reshape(gate.shape[0], -1, dim), gate.unflatten(-1, (-1, dim)), weight, eps), quant)


def head_norm_rotary(
    mixed: torch.Tensor, q_weight: torch.Tensor, k_weight: torch.Tensor, table: torch.Tensor, heads: tuple[int, int], eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """See smxx_bf16_attention.head_norm_rotary."""
    dim = q_weight.shape[0]
    split = heads[0] * 2 * dim
    q = mixed[:, :split].unflatten(-1, (heads[0], 2, dim))[:, :, 0]
    k = mixed[:, split : split + heads[1] * dim].unflatten(-1, (heads[1], dim))
    return reference.head_norm_rotary(q, q_weight, table, eps), reference.head_norm_rotary(k, k_weight, table, eps)


def sigmoid_gate(x: torch.Tensor, mixed: torch.Tensor, dim: int, quant: bool | str) -> Quantised:
    """See smxx_bf16_attention.sigmoid_gate."""
    gate = mixed[:, : 2 * x.shape[1]].unflatten(-1, (-1, 2, dim))[:, :, 1].flatten(-2)
    return quantised(reference.sigmoid_gate(x, gate), quant)
