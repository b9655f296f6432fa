"""What the engine needs of a Qwen3.5 config.json, checked. Any other architecture is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import LoadError


@dataclass(frozen=True)
class TextConfig:
    """Sizes of the language model, and what the prompt needs of the rest."""

    hidden: int
    intermediate: int
    layers: tuple[str, ...]  # "linear_attention" or "full_attention"
    heads: int
    kv_heads: int
    head_dim: int
    key_heads: int
    value_heads: int
    delta_dim: int
    taps: int
    vocabulary: int
    eps: float
    rope_theta: float
    rotated: int  # dimensions of a head that are rotated
    sections: tuple[int, int, int]
    max_positions: int
    image_token: int | None = None
    merge: int = 2

    @property
    def delta_channels(self) -> int:
        """Width of q|k|v before the delta rule."""
        return (2 * self.key_heads + self.value_heads) * self.delta_dim


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises LoadError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise LoadError(f"{path.name}: not readable as JSON ({type(error).__name__})") from error
    if not isinstance(value, dict):
        raise LoadError(f"{path.name}: not a JSON object")
    return value


def layer_types(text: dict[str, Any]) -> tuple[str, ...]:
    """The kind of each layer: as listed, else every full_attention_interval-th is full attention."""
    listed = text.get("layer_types")
    if listed is None:
        every = text.get("full_attention_interval", 4)
        listed = ["linear_attention" if (i + 1) % every else "full_attention" for i in range(text["num_hidden_layers"])]
    if len(listed) != text["num_hidden_layers"] or set(listed) - {"linear_attention", "full_attention"}:
        raise LoadError("config.json: layer_types doesn't list linear_attention or full_attention for each layer")
    return tuple(listed)


def check(text: dict[str, Any]) -> None:
    """Refuses what the kernels don't know. Raises LoadError."""
    wanted = {"hidden_act": "silu", "attention_bias": False, "attn_output_gate": True}
    for key, value in wanted.items():
        if text.get(key, value) != value:
            raise LoadError(f"config.json: {key} is {text[key]!r}, this runtime has {value!r} only")
    if text["linear_key_head_dim"] != text["linear_value_head_dim"]:
        raise LoadError("config.json: key and value heads of linear attention have different sizes")


def text_config(folder: Path) -> TextConfig:
    """The text model's sizes from a folder's config.json. Raises LoadError."""
    whole = read_json(folder / "config.json")
    text = whole.get("text_config", whole)
    if whole.get("model_type") not in ("qwen3_5", "qwen3_5_text"):
        raise LoadError(f"config.json: model_type is {whole.get('model_type')!r}, this runtime serves qwen3_5")
    try:
        check(text)
        rope = text.get("rope_parameters") or text.get("rope_scaling") or {}
        head_dim = text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"]
        factor = rope.get("partial_rotary_factor", text.get("partial_rotary_factor", 0.25))
        if rope.get("rope_type", "default") != "default" or not rope.get("mrope_interleaved", True):
            raise LoadError("config.json: only the default, interleaved rotary embedding is known")
        return TextConfig(
            hidden=text["hidden_size"],
            intermediate=text["intermediate_size"],
            layers=layer_types(text),
            heads=text["num_attention_heads"],
            kv_heads=text["num_key_value_heads"],
            head_dim=head_dim,
            key_heads=text["linear_num_key_heads"],
            value_heads=text["linear_num_value_heads"],
            delta_dim=text["linear_key_head_dim"],
            taps=text["linear_conv_kernel_dim"],
            vocabulary=text["vocab_size"],
            eps=text.get("rms_norm_eps", 1e-6),
            rope_theta=rope.get("rope_theta", text.get("rope_theta", 1e7)),
            rotated=int(head_dim * factor),
            sections=tuple(rope.get("mrope_section", (11, 11, 10))),
            max_positions=text["max_position_embeddings"],
            image_token=whole.get("image_token_id"),
            merge=(whole.get("vision_config") or {}).get("spatial_merge_size", 2),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LoadError(f"config.json: {type(error).__name__} at {error}") from error
