"""What lies outside of a spec and its lock, in one frozen value: the Hub, the cache on this disk, the network switch."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from hubrelease.hub import Hub, HuggingFaceHub
from hubrelease.progress import SILENT, Progress


def cache_folder() -> Path:
    """Where wheels, git objects and file identities are kept: $XDG_CACHE_HOME/hubrelease, else ~/.cache/hubrelease."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "hubrelease"


def network_is_off() -> bool:
    """As huggingface_hub reads it: HF_HUB_OFFLINE goes before TRANSFORMERS_OFFLINE."""
    said = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return said.upper() in ("1", "ON", "YES", "TRUE")


@dataclass(frozen=True)
class Outside:
    """`folder` is release.yaml's own, to which folder sources are relative."""

    folder: Path
    offline: bool = field(default_factory=network_is_off)
    cache: Path = field(default_factory=cache_folder)
    hub: Hub = field(default_factory=HuggingFaceHub)
    progress: Progress = SILENT
