"""The quantization_config of the formats that compressed-tensors reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hubrelease.formats._format import Config
from hubrelease.quantisation import compressed_tensors


def block(preset: str) -> Config:
    """The config of a preset. Every name in `ignore` is a full one; lm_head stands there even where no tensor has that
    name, for compressed-tensors meets the module of a tied head all the same."""

    def config_block(quantised: Iterable[str], excluded: Iterable[str]) -> dict[str, Any]:
        return compressed_tensors.config_block(preset, {*excluded, "lm_head"} - set(quantised))

    return config_block
