"""Draft models for speculative decoding, and the configurations that serve them.

A draft says on which layers of its target it listens, how many tokens it writes at once, and which token stands for those
to come. DFlash drafts keep that in dflash_config or, in earlier revisions, at the top level; speculators' format has names
of its own (vllm 0.32.0, models/qwen3_dflash.py and transformers_utils/configs/speculators).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hubrelease.models import Model, as_mapping, as_size
from hubrelease.texts import text_of

if TYPE_CHECKING:
    from hubrelease.release import Release

FLAG = re.compile(r"--speculative[-_]config(?:[ =]|\"?\s*,\s*\"?|\s+)|\bspeculative_config\b\"?\s*[:=]\s*")
PLACES = re.compile(r"(.*/)?([\w.-]*\.(sh|ya?ml|env|toml)|[\w.-]*Dockerfile[\w.-]*|speculative[\w.-]*\.json)")
MOST = 20


class Draft:
    """A model of the release whose config describes a draft."""

    def __init__(self, model: Model) -> None:
        self.model, self.config = model, model.config

    def either(self, *keys: str) -> tuple[str, Any] | None:
        """(pointer, value) of the first key in dflash_config, else at the top level."""
        nested = as_mapping(self.config.get("dflash_config"))
        for key in keys:
            if key in nested:
                return f"/dflash_config/{key}", nested[key]
            if key in self.config:
                return f"/{key}", self.config[key]
        return None

    @property
    def block_size(self) -> int | None:
        found = self.either("block_size")
        return as_size(found[1], 10_000) if found else None

    @property
    def target_hidden(self) -> int | None:
        layer = as_mapping(self.config.get("transformer_layer_config"))
        return (
            as_size(self.config.get("target_hidden_size")) or as_size(self.config.get("hidden_size")) or as_size(layer.get("hidden_size"))
        )


def is_draft(model: Model) -> bool:
    said = ("dflash_config", "target_layer_ids", "speculators_model_type", "num_target_layers")
    return any(key in model.config for key in said) or "DFlash" in model.architecture or "Eagle" in model.architecture


def drafts(release: Release) -> list[Draft]:
    return [Draft(model) for model in release.models if is_draft(model)]


def targets(release: Release) -> list[Model]:
    return [model for model in release.models if model.config and not is_draft(model)]


@dataclass(frozen=True)
class Speculation:
    """A speculative config as a serving file gives it."""

    file: str
    line: int
    value: Mapping[str, Any]


def speculations(release: Release) -> Iterator[Speculation]:
    for path in sorted(release.files):
        if PLACES.fullmatch(path) and (data := text_of(release, path)) is not None and b"speculative" in data.lower():
            yield from in_text(path, data.decode("utf-8", "replace"))


def in_text(path: str, text: str) -> Iterator[Speculation]:
    """Each JSON object behind the flag; one that a shell still has to fill in is left out."""
    if path.endswith(".json"):
        if isinstance(value := loads(text.strip()), dict):
            yield Speculation(path, 1, value)
        return
    for number, match in enumerate(FLAG.finditer(text)):
        start = text.find("{", match.end(), match.end() + 4)
        if start >= 0 and number < MOST and isinstance(value := first_object(text[start : start + 10_000]), dict):
            yield Speculation(path, text.count("\n", 0, start) + 1, value)


def first_object(text: str) -> Any:
    for form in (text, text.replace('\\"', '"'), text.replace("'", '"')):
        try:
            return json.JSONDecoder().raw_decode(form)[0]
        except (ValueError, RecursionError):
            continue
    return None


def loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
