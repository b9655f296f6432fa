"""The `reference` profile: transformers' own model and loader with the adapter in FP32 beside it, for comparison with ours.

Has what core.py asks of a model: embed and forward. An FP8 checkpoint is transformers' business here: on a CPU it
dequantises, on a GPU it wants its own kernel from a warm cache.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .adapter import Adapter
from .config import TextConfig
from .load import linear_shapes


class ReferenceModel:
    """transformers' Qwen3_5ForConditionalGeneration behind the engine's interface."""

    plan = None

    def __init__(self, folder: Path, config: TextConfig, adapter: Adapter | None, device: torch.device, dtype: torch.dtype) -> None:
        from transformers import Qwen3_5ForConditionalGeneration

        self.config, self.device = config, device
        self.whole = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=dtype, local_files_only=True).to(device).eval()
        self.embedding = self.whole.get_input_embeddings().weight
        if adapter is not None:
            attach(self.whole, config, adapter)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """(rows, hidden) of token ids."""
        return torch.nn.functional.embedding(ids.flatten(), self.embedding)

    def forward(
        self, embeds: torch.Tensor, positions: torch.Tensor, shape: tuple[int, int], last: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See model.Model.forward."""
        states = self.whole.model.language_model(
            inputs_embeds=embeds.unflatten(0, shape), position_ids=positions.unflatten(1, shape), use_cache=False
        ).last_hidden_state.flatten(0, 1)
        return states if last is None else states.index_select(0, last)


def attach(whole: Any, config: TextConfig, adapter: Adapter) -> None:
    """Adds the adapter's product to each of its modules in FP32, as PEFT computes it."""
    for number, kind in enumerate(config.layers):
        for name, shape in linear_shapes(config, kind).items():
            module = f"model.language_model.layers.{number}.{name}"
            part = adapter.part(module, shape, torch.float32)
            if part is not None:
                whole.get_submodule(module).register_forward_hook(hook(*part))


def hook(a: torch.Tensor, b: torch.Tensor) -> Any:
    """A forward hook that adds (x A^T) B^T."""

    def add(_module: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
        return (output.float() + (inputs[0].float() @ a.t()) @ b.t()).to(output.dtype)

    return add
