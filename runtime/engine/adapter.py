"""A PEFT LoRA adapter, unmerged: its FP32 files are read, never written; its arithmetic is BF16 as the release states.

`Adapter.part(module, …)` gives a module's two matrices: A (rank, in) as saved, rounded to BF16; B (out, rank) times
alpha / rank, rounded once. What the adapter's config asks for beyond plain LoRA is refused by name.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import LoadError
from .config import read_json

CONFIG, WEIGHTS, PREFIX = "adapter_config.json", "adapter_model.safetensors", "base_model.model."
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
NAME = re.compile(r"^base_model\.model\.(?P<module>.+)\.lora_(?P<side>[AB])\.weight$")
REFUSED = ("use_dora", "lora_bias", "fan_in_fan_out", "modules_to_save", "trainable_token_indices", "target_parameters")


@dataclass
class Adapter:
    """The tensors by module and side, and the config's ranks and scales."""

    config: dict[str, Any]
    tensors: dict[tuple[str, str], torch.Tensor]
    used: set[str] = field(default_factory=set)

    @property
    def rank(self) -> int:
        """The largest rank of its modules: a group's matrices are padded to it with zeros."""
        return max(tensor.shape[0] for (_, side), tensor in self.tensors.items() if side == "A")

    @property
    def modules(self) -> set[str]:
        """Names of the modules that it changes, as the checkpoint has them."""
        return {module for module, _ in self.tensors}

    def scale(self, module: str, rank: int) -> float:
        """alpha / rank, or alpha / sqrt(rank), with the config's exceptions for this module."""
        alpha = pattern(self.config.get("alpha_pattern"), module, self.config["lora_alpha"])
        return alpha / math.sqrt(rank) if self.config.get("use_rslora") else alpha / rank

    def part(self, module: str, shape: tuple[int, int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor] | None:
        """(A, B x scale) for a module of this (out, in) shape, or None. Raises LoadError."""
        if (module, "A") not in self.tensors:
            return None
        self.used.add(module)
        a, b = self.tensors[module, "A"], self.tensors[module, "B"]
        rank = pattern(self.config.get("rank_pattern"), module, self.config["r"])
        if a.shape != (rank, shape[1]) or b.shape != (shape[0], rank):
            raise LoadError(f"adapter: {module} has A {tuple(a.shape)} and B {tuple(b.shape)}; the base and rank {rank} call for "
                            f"({rank}, {shape[1]}) and ({shape[0]}, {rank})")  # fmt: skip
        return a.to(dtype), (b * self.scale(module, rank)).to(dtype)

    def finish(self) -> None:
        """Raises LoadError if a module of the adapter is not in the base."""
        strange = sorted(self.modules - self.used)
        if strange:
            raise LoadError(f"adapter: {len(strange)} of its modules are not in the base model: {', '.join(strange[:5])}")


def pattern(patterns: dict[str, Any] | None, module: str, default: Any) -> Any:
    """PEFT's rule: the first key that matches the end of the module's name."""
    for key, value in (patterns or {}).items():
        if re.match(rf"(.*\.)?({key})$", module):
            return value
    return default


def load_adapter(folder: Path, device: torch.device) -> Adapter | None:
    """The adapter of a folder, or None where there is no adapter_config.json. Raises LoadError."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not (folder / CONFIG).is_file():
        if (folder / WEIGHTS).exists():
            raise LoadError(f"{WEIGHTS} is there without its {CONFIG}")
        return None
    config = read_json(folder / CONFIG)
    asked = [key for key in REFUSED if config.get(key)]
    if config.get("peft_type") != "LORA" or asked or config.get("bias", "none") != "none":
        raise LoadError(f"{CONFIG}: only plain LoRA is served, this has {asked or config.get('peft_type')!r}")
    if not isinstance(config.get("r"), int) or not isinstance(config.get("lora_alpha"), int | float):
        raise LoadError(f"{CONFIG}: r and lora_alpha are not numbers")
    try:
        saved = load_file(folder / WEIGHTS, device=str(device))
    except (OSError, SafetensorError) as error:
        raise LoadError(f"{WEIGHTS}: {error}") from error
    matches = {name: NAME.match(name) for name in saved}
    if strange := sorted(name for name, match in matches.items() if match is None):
        raise LoadError(f"{WEIGHTS}: {strange[0]} is no LoRA matrix")
    if other := sorted({str(tensor.dtype) for tensor in saved.values()} - {str(dtype) for dtype in DTYPES}):
        raise LoadError(f"{WEIGHTS}: {', '.join(other)} is no dtype of LoRA matrices")
    tensors = {(m["module"], m["side"]): saved[name] for name, m in matches.items() if m}
    halves = sorted(module for module, side in tensors if (module, "B" if side == "A" else "A") not in tensors)
    if halves or not tensors:
        raise LoadError(f"{WEIGHTS}: {halves[0] if halves else 'no module'} has only one of lora_A and lora_B")
    return Adapter(config, tensors)
