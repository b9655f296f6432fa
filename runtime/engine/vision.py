"""Images: preprocessed and sent through the vision tower once, their features put into every prompt that shows them.

The tower and the image processor are transformers' own; the positions of a prompt with images are worked out here, since
transformers keeps them as state on its model. Features live as long as the caller holds them: one request.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from . import LoadError
from .config import TextConfig, read_json


@dataclass(frozen=True)
class Encoded:
    """The features of a request's images, and how many tokens high and wide each is."""

    features: tuple[torch.Tensor, ...]
    grids: tuple[tuple[int, int], ...]
    vision_ms: float

    @property
    def count(self) -> int:
        """How many images."""
        return len(self.features)

    @property
    def tokens(self) -> int:
        """Tokens that they take in each prompt."""
        return sum(feature.shape[0] for feature in self.features)


class Vision:
    """The vision tower of a checkpoint."""

    def __init__(self, folder: Path, tensors: dict[str, torch.Tensor], device: torch.device, dtype: torch.dtype) -> None:
        from transformers import AutoImageProcessor
        from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5VisionConfig
        from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5VisionModel

        config = Qwen3_5VisionConfig(**(read_json(folder / "config.json")["vision_config"]))
        self.merge, self.device, self.dtype = config.spatial_merge_size, device, dtype
        # Pillow's resampling, whatever else is installed: the choice changes bits.
        self.processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True, backend="pil")
        self.tower = Qwen3_5VisionModel._from_config(config, dtype=dtype).eval()
        found = self.tower.load_state_dict({name: tensor.to(dtype) for name, tensor in tensors.items()}, strict=False)
        if found.missing_keys or found.unexpected_keys:
            raise LoadError(f"vision tower: missing {found.missing_keys[:3]}, unexpected {found.unexpected_keys[:3]}")
        self.tower.to(device)

    @torch.inference_mode()
    def encode(self, images: Sequence[Any]) -> Encoded:
        """Features of RGB PIL images, each by itself, so that none depends on its neighbour."""
        started, features, grids = time.perf_counter(), [], []
        for image in images:
            inputs = self.processor(images=[image], return_tensors="pt")
            grid = inputs["image_grid_thw"].to(self.device)
            features.append(self.tower(inputs["pixel_values"].to(self.device, self.dtype), grid_thw=grid).pooler_output)
            grids.append((int(grid[0, 1]) // self.merge, int(grid[0, 2]) // self.merge))
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return Encoded(tuple(features), tuple(grids), (time.perf_counter() - started) * 1e3)


def spread(ids: list[int], image_token: int | None, encoded: Encoded | None) -> list[int]:
    """Token ids with each image's one placeholder repeated to its number of tokens."""
    if encoded is None:
        return ids
    sizes = iter(feature.shape[0] for feature in encoded.features)
    return [token for i in ids for token in ([i] * next(sizes) if i == image_token else [i])]


def positions(ids: list[int], image_token: int | None, encoded: Encoded | None) -> torch.Tensor:
    """(3, tokens): time, height, width. Text counts on in all three; an image spans its grid from where it stands."""
    if encoded is None:
        return torch.arange(len(ids)).expand(3, -1)
    parts, at, place, grids = [], 0, 0, iter(encoded.grids)
    while at < len(ids):
        if ids[at] == image_token:
            high, wide = next(grids)
            rows, columns = torch.arange(high).repeat_interleave(wide), torch.arange(wide).repeat(high)
            parts.append(torch.stack((torch.zeros_like(rows), rows, columns)) + place)
            at, place = at + high * wide, place + max(high, wide)
            continue
        end = next((i for i in range(at, len(ids)) if ids[i] == image_token), len(ids))
        parts.append(torch.arange(end - at).expand(3, -1) + place)
        at, place = end, place + end - at
    return torch.cat(parts, 1)


def put(embeds: torch.Tensor, ids: torch.Tensor, config: TextConfig, encoded: Encoded | None) -> torch.Tensor:
    """Embeddings (tokens, hidden) with the images' features at their places."""
    if encoded is None:
        return embeds
    mask = (ids == config.image_token).unsqueeze(-1)
    return embeds.masked_scatter(mask, torch.cat(encoded.features).to(embeds.dtype))
