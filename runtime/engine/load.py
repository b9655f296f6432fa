"""Reads a release's checkpoint as it is: block-FP8 codes stay codes, BF16 stays BF16, MTP weights are left unread.

Every tensor that the config calls for must be there with its shape, and nothing else but `mtp.*`: a missing, unexpected or
misshapen tensor is a LoadError that names it. Nothing is dequantised.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import LoadError
from .config import TextConfig, read_json

TEXT, VISION = "model.language_model.", "model.visual."
UNREAD = ("mtp.", "lm_head.")
SHOWN = 5  # names in a message
QUANTISED = {
    "linear_attention": ("linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.out_proj"),
    "full_attention": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
}
MLP = ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")


def linear_shapes(c: TextConfig, kind: str) -> dict[str, tuple[int, int]]:
    """(rows, columns) of a layer's linears that may be quantised."""
    value, head = c.value_heads * c.delta_dim, c.head_dim
    shapes = {
        "linear_attn.in_proj_qkv": (c.delta_channels, c.hidden),
        "linear_attn.in_proj_z": (value, c.hidden),
        "linear_attn.out_proj": (c.hidden, value),
        "self_attn.q_proj": (2 * c.heads * head, c.hidden),
        "self_attn.k_proj": (c.kv_heads * head, c.hidden),
        "self_attn.v_proj": (c.kv_heads * head, c.hidden),
        "self_attn.o_proj": (c.hidden, c.heads * head),
        "mlp.gate_proj": (c.intermediate, c.hidden),
        "mlp.up_proj": (c.intermediate, c.hidden),
        "mlp.down_proj": (c.hidden, c.intermediate),
    }
    return {name: shapes[name] for name in (*QUANTISED[kind], *MLP)}


def other_shapes(c: TextConfig, kind: str) -> dict[str, tuple[int, ...]]:
    """Shapes of a layer's tensors that are never quantised."""
    shapes: dict[str, tuple[int, ...]] = {"input_layernorm.weight": (c.hidden,), "post_attention_layernorm.weight": (c.hidden,)}
    if kind == "full_attention":
        return shapes | {"self_attn.q_norm.weight": (c.head_dim,), "self_attn.k_norm.weight": (c.head_dim,)}
    heads = c.value_heads
    return shapes | {
        "linear_attn.in_proj_a.weight": (heads, c.hidden),
        "linear_attn.in_proj_b.weight": (heads, c.hidden),
        "linear_attn.conv1d.weight": (c.delta_channels, 1, c.taps),
        "linear_attn.A_log": (heads,),
        "linear_attn.dt_bias": (heads,),
        "linear_attn.norm.weight": (c.delta_dim,),
    }


@dataclass
class Checkpoint:
    """The tensors of a folder's shards by name; read one at a time, straight to the device."""

    folder: Path
    files: dict[str, Path]
    device: torch.device
    read: set[str] = field(default_factory=set)
    handles: dict[Path, Any] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def get(self, name: str, shape: tuple[int, ...] | None = None) -> torch.Tensor:
        """One tensor, its shape checked. Raises LoadError."""
        if name not in self.files:
            raise LoadError(f"{name} is missing from the checkpoint")
        tensor = self.handle(self.files[name]).get_tensor(name)
        if shape is not None and tuple(tensor.shape) != shape:
            raise LoadError(f"{name} has shape {tuple(tensor.shape)}, the config calls for {shape}")
        self.read.add(name)
        return tensor.to(self.device)

    def handle(self, path: Path) -> Any:
        """The open shard."""
        from safetensors import SafetensorError, safe_open

        if path not in self.handles:
            try:
                self.handles[path] = self.stack.enter_context(safe_open(path, framework="pt", device=str(self.device)))
            except (OSError, SafetensorError) as error:
                raise LoadError(f"{path.name}: {error}") from error
        return self.handles[path]

    def linear(self, module: str, shape: tuple[int, int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor | None]:
        """(codes, scales) of a block-FP8 linear, or (weight, None)."""
        weight = self.get(f"{module}.weight", shape)
        if weight.dtype != torch.float8_e4m3fn:
            if f"{module}.weight_scale_inv" in self.files:
                raise LoadError(f"{module}: has weight_scale_inv, but its weight is {weight.dtype}")
            return weight.to(dtype), None
        if shape[0] % 128 or shape[1] % 128:
            raise LoadError(f"{module}: FP8 blocks of 128 don't divide {shape}")
        scale = self.get(f"{module}.weight_scale_inv", (shape[0] // 128, shape[1] // 128))
        if scale.dtype != torch.float32 or not bool((scale.isfinite() & (scale > 0)).all()):
            raise LoadError(f"{module}: weight_scale_inv isn't FP32, finite and positive")
        return weight, scale

    def vision(self) -> dict[str, torch.Tensor]:
        """The vision tower's tensors by their names inside it."""
        return {name.removeprefix(VISION): self.get(name) for name in sorted(self.files) if name.startswith(VISION)}

    def finish(self) -> None:
        """Closes the shards. Raises LoadError if a tensor was not asked for; MTP's and an output head stay unread."""
        self.stack.close()
        self.handles.clear()
        unread = sorted(name for name in self.files if name not in self.read and not name.startswith(UNREAD))
        if unread:
            raise LoadError(f"{len(unread)} unexpected tensors in the checkpoint: {', '.join(unread[:SHOWN])}")


def shards(folder: Path) -> Iterator[tuple[str, Path]]:
    """(tensor, file) of a checkpoint: by its index, else the one file's own names. Raises LoadError."""
    from safetensors import SafetensorError, safe_open

    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file():
        try:
            with safe_open(folder / "model.safetensors", framework="pt") as single:
                names = list(single.keys())
        except SafetensorError as error:
            raise LoadError(f"model.safetensors: {error}") from error
        yield from ((name, folder / "model.safetensors") for name in names)
        return
    mapped = read_json(index).get("weight_map")
    if not isinstance(mapped, dict) or not all(isinstance(file, str) and Path(file).name == file for file in mapped.values()):
        raise LoadError(f"{index.name}: weight_map isn't a map from tensors to file names")
    missing = sorted({file for file in mapped.values() if not (folder / file).is_file()})
    if missing:
        raise LoadError(f"{len(missing)} shards are missing: {', '.join(missing[:SHOWN])}")
    yield from ((name, folder / file) for name, file in mapped.items())


def open_checkpoint(folder: Path, device: torch.device) -> Checkpoint:
    """The checkpoint of a release folder. Raises LoadError."""
    return Checkpoint(folder, dict(shards(folder)), device)
