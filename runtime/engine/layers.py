"""The decoder layers of Qwen3.5, each a handful of fused kernels over (rows, columns) activations.

A layer is given (update, residual): the residual stream and what the last linear adds to it, perhaps still in FP32 parts.
The add, the norm and the quantiser are one kernel, so no layer writes its own output into the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import torch

from .config import TextConfig
from .kernels import linear, reference

Update = torch.Tensor | None


@dataclass
class Group:
    """Linears that share an input. `down` holds the adapter's A matrices, padded to one rank, then `extra` BF16 rows."""

    matrix: linear.Linear
    down: torch.Tensor | None = None
    lora_columns: int = 0

    @property
    def quant(self) -> linear.Quant:
        """How the input is needed in FP8: see linear.Plan.layout; False for BF16."""
        return False if self.matrix.scale is None or self.matrix.plan is None else self.matrix.plan.layout

    def __call__(self, activation: linear.Activation, partial: bool = False) -> torch.Tensor:
        """The linear's output."""
        return self.with_extra(activation, partial)[0]

    def deferred(self, activation: linear.Activation) -> tuple[torch.Tensor, linear.Pending]:
        """(output, the adapter's product that the reader has to add, or None)."""
        return self.matrix.deferred(activation, None if self.down is None else reference.product(activation.x, self.down))

    def with_extra(self, activation: linear.Activation, partial: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """(output, product with the extra rows)."""
        if self.down is None:
            return self.matrix(activation, partial=partial), activation.x[:, :0]
        both = reference.product(activation.x, self.down)
        t = both[:, : self.lora_columns] if self.lora_columns else None
        return self.matrix(activation, t, partial), both[:, self.lora_columns :]


@dataclass
class Pass:
    """What all layers of one forward share: (batch, tokens) and the rotary table."""

    shape: tuple[int, int]
    table: torch.Tensor


@dataclass
class DeltaNet:
    """Gated DeltaNet: q|k|v|z in one linear, a|b beside its adapter."""

    ops: SimpleNamespace
    config: TextConfig
    decay_scale: float | None
    inputs: Group
    output: Group
    conv: torch.Tensor
    a_log: torch.Tensor
    dt_bias: torch.Tensor
    norm: torch.Tensor

    def __call__(self, activation: linear.Activation, run: Pass) -> torch.Tensor:
        """What the layer adds to the stream."""
        c, ops = self.config, self.ops
        mixed, ab = self.inputs.with_extra(activation)
        heads = (c.key_heads, c.value_heads)
        inputs = ops.delta_inputs(mixed, ab, self.conv, self.a_log, self.dt_bias, run.shape, heads, c.delta_dim, self.decay_scale)
        out = ops.delta_rule(*inputs)
        return self.output(
            linear.Activation(*ops.gated_norm(out, mixed[:, c.delta_channels :], self.norm, c.eps, self.output.quant)), partial=True
        )


@dataclass
class Attention:
    """Full attention with a gate on its output: q and gate by head | k | v in one linear."""

    ops: SimpleNamespace
    config: TextConfig
    inputs: Group
    output: Group
    q_norm: torch.Tensor
    k_norm: torch.Tensor

    def __call__(self, activation: linear.Activation, run: Pass) -> torch.Tensor:
        """What the layer adds to the stream."""
        c, ops = self.config, self.ops
        mixed = self.inputs(activation)
        q, k = ops.head_norm_rotary(mixed, self.q_norm, self.k_norm, run.table, (c.heads, c.kv_heads), c.eps)
        v = mixed[:, -c.kv_heads * c.head_dim :]
        out = ops.attention(*(x.unflatten(0, run.shape).reshape(*run.shape, -1, c.head_dim) for x in (q, k, v)))
        out = out.reshape(mixed.shape[0], c.heads * c.head_dim)
        return self.output(linear.Activation(*ops.sigmoid_gate(out, mixed, c.head_dim, self.output.quant)), partial=True)


@dataclass
class Mlp:
    """SwiGLU: gate|up in one linear."""

    ops: SimpleNamespace
    inputs: Group
    output: Group

    def __call__(self, activation: linear.Activation) -> torch.Tensor:
        """What the block adds to the stream."""
        return self.output(linear.Activation(*self.ops.swiglu(*self.inputs.deferred(activation), self.output.quant)), partial=True)


@dataclass
class Layer:
    """One decoder layer."""

    ops: SimpleNamespace
    eps: float
    mixer: DeltaNet | Attention
    mlp: Mlp
    input_norm: torch.Tensor
    post_norm: torch.Tensor

    def __call__(self, update: Update, residual: torch.Tensor, run: Pass, only: torch.Tensor | None) -> tuple[Update, torch.Tensor]:
        """The next (update, residual). `only` are the rows that anyone still needs after the mixer (the last layer's)."""
        residual, *rest = self.ops.add_norm(update, residual, self.input_norm, self.eps, self.mixer.inputs.quant)
        update = self.mixer(linear.Activation(*rest), run)
        if only is not None:
            update, residual = update.index_select(-2, only), residual.index_select(0, only)
        residual, *rest = self.ops.add_norm(update, residual, self.post_norm, self.eps, self.mlp.inputs.quant)
        return self.mlp(linear.Activation(*rest)), residual
