"""Our own forward of Qwen3.5's language model: prompts in, the last token's final-norm state out.

`build` puts a checkpoint and an adapter together; `Model.forward` runs it. Prefill only: a decision needs one state a prompt,
so there is no cache. Right padding is harmless, since attention, convolution and delta rule look back only.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from . import LoadError
from .adapter import Adapter
from .config import TextConfig
from .kernels import dispatch, linear, module, reference
from .layers import Attention, DeltaNet, Group, Layer, Mlp, Pass
from .load import TEXT, Checkpoint, linear_shapes, other_shapes


@dataclass
class Model:
    """The language model on one device."""

    config: TextConfig
    ops: SimpleNamespace
    embedding: torch.Tensor
    layers: list[Layer]
    norm: torch.Tensor
    inverse: torch.Tensor  # rotary frequencies, FP32
    axis: torch.Tensor  # which of the three positions each of them turns by
    plan: linear.Plan | None = None

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.embedding.device

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """(rows, hidden) of token ids."""
        return torch.nn.functional.embedding(ids.flatten(), self.embedding)

    def forward(
        self, embeds: torch.Tensor, positions: torch.Tensor, shape: tuple[int, int], last: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Final-norm states: of the rows `last` (row numbers over batch x tokens), or of all where it is None.

        embeds (batch x tokens, hidden), positions (3, batch x tokens). The last layer's MLP runs on the wanted rows alone.
        """
        run = Pass(shape, reference.rotary_table(positions, self.inverse, self.axis, embeds.dtype))
        update, residual = None, embeds
        for i, layer in enumerate(self.layers):
            update, residual = layer(update, residual, run, last if i == len(self.layers) - 1 else None)
        return self.ops.add_norm(update, residual, self.norm, self.config.eps, False)[1]


class Builder:
    """Makes layers of a checkpoint's tensors and an adapter's."""

    def __init__(self, config: TextConfig, checkpoint: Checkpoint, adapter: Adapter | None, dtype: torch.dtype) -> None:
        self.config, self.checkpoint, self.adapter, self.dtype = config, checkpoint, adapter, dtype
        capability = torch.cuda.get_device_capability(checkpoint.device) if checkpoint.device.type == "cuda" else None
        self.capability = capability
        self.ops = dispatch.operations(capability)
        self.rank = 0 if adapter is None else max(16, 1 << (adapter.rank - 1).bit_length())
        self.linears: list[linear.Linear] = []

    def group(self, prefix: str, names: tuple[str, ...], shapes: dict[str, tuple[int, int]], extra: tuple[str, ...] = ()) -> Group:
        """A group of linears with its adapter, and BF16 rows that share its input."""
        parts = [self.checkpoint.linear(prefix + name, shapes[name], self.dtype) for name in names]
        if len({scale is None for _, scale in parts}) > 1:
            raise LoadError(f"{prefix}{{{','.join(names)}}}: some are FP8 and some are not; a group is one or the other")
        weight, scale, ends = linear.concatenate(parts)
        matrix = linear.Linear(weight, scale, ends)
        self.linears.append(matrix)
        rows = [self.checkpoint.get(f"{prefix}{name}.weight", (self.config.value_heads, self.config.hidden)) for name in extra]
        down, matrix.up = self.lora([(prefix + name, shapes[name]) for name in names])
        columns = 0 if down is None else down.shape[0]
        stacked = [some.to(self.dtype) for some in ([] if down is None else [down]) + rows]
        return Group(matrix, torch.cat(stacked) if stacked else None, columns)

    def lora(self, modules: list[tuple[str, tuple[int, int]]]) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """(A of all parts, B of all parts), each padded to one rank; zeros for a part that the adapter leaves alone."""
        found = [None if self.adapter is None else self.adapter.part(name, shape, self.dtype) for name, shape in modules]
        if not any(found):
            return None, None
        down, up = [], []
        for (_, (rows, columns)), part in zip(modules, found, strict=True):
            a = torch.zeros(self.rank, columns, dtype=self.dtype, device=self.checkpoint.device)
            b = torch.zeros(rows, self.rank, dtype=self.dtype, device=self.checkpoint.device)
            if part is not None:
                a[: part[0].shape[0]], b[:, : part[1].shape[1]] = part
            down.append(a)
            up.append(b)
        return torch.cat(down), torch.cat(up)

    def layer(self, number: int, kind: str) -> Layer:
        """One decoder layer."""
        prefix, c = f"{TEXT}layers.{number}.", self.config
        shapes = linear_shapes(c, kind)
        own = {name: self.checkpoint.get(prefix + name, shape) for name, shape in other_shapes(c, kind).items() if "in_proj" not in name}
        mixer: DeltaNet | Attention
        if kind == "linear_attention":
            names = ("linear_attn.in_proj_a", "linear_attn.in_proj_b")
            inputs = self.group(prefix, ("linear_attn.in_proj_qkv", "linear_attn.in_proj_z"), shapes, names)
            output = self.group(prefix, ("linear_attn.out_proj",), shapes)
            conv = own["linear_attn.conv1d.weight"].squeeze(1).to(self.dtype).contiguous()
            scale = None
            if self.capability is not None:
                scale = module("smxx_bf16_delta_rule").DECAY_SCALE
            mixer = DeltaNet(self.ops, c, scale, inputs, output, conv, own["linear_attn.A_log"].float(),
                             own["linear_attn.dt_bias"], own["linear_attn.norm.weight"])  # fmt: skip
        else:
            inputs = self.group(prefix, ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), shapes)
            output = self.group(prefix, ("self_attn.o_proj",), shapes)
            mixer = Attention(self.ops, c, inputs, output, own["self_attn.q_norm.weight"], own["self_attn.k_norm.weight"])
        mlp = Mlp(self.ops, self.group(prefix, ("mlp.gate_proj", "mlp.up_proj"), shapes), self.group(prefix, ("mlp.down_proj",), shapes))
        return Layer(self.ops, c.eps, mixer, mlp, own["input_layernorm.weight"], own["post_attention_layernorm.weight"])


def frequencies(c: TextConfig, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """(rotary frequencies, the axis of each): height and width take every third from 1 and 2 on, time the rest."""
    inverse = 1.0 / (c.rope_theta ** (torch.arange(0, c.rotated, 2, dtype=torch.float32) / c.rotated))
    axis = torch.zeros(c.rotated // 2, dtype=torch.long)
    for dimension in (1, 2):
        axis[dimension : c.sections[dimension] * 3 : 3] = dimension
    return inverse.to(device), axis.to(device)


def build(config: TextConfig, checkpoint: Checkpoint, adapter: Adapter | None, backend: str, dtype: torch.dtype) -> Model:
    """The model; its FP8 backend chosen and tested. Raises LoadError."""
    builder = Builder(config, checkpoint, adapter, dtype)
    embedding = checkpoint.get(f"{TEXT}embed_tokens.weight", (config.vocabulary, config.hidden)).to(dtype)
    layers = [builder.layer(i, kind) for i, kind in enumerate(config.layers)]
    norm = checkpoint.get(f"{TEXT}norm.weight", (config.hidden,))
    model = Model(config, builder.ops, embedding, layers, norm, *frequencies(config, checkpoint.device))
    attach_plan(model, builder.linears, backend, builder.capability)
    return model


def attach_plan(model: Model, linears: list[linear.Linear], backend: str, capability: Any) -> None:
    """Chooses and tests the backend for the FP8 linears. Raises kernels.linear.BackendError."""
    quantised = [(matrix.weight, matrix.scale) for matrix in linears if matrix.scale is not None]
    if not quantised:
        return
    model.plan = linear.make_plan(backend, capability, quantised)
    for matrix in linears:
        matrix.plan = model.plan
