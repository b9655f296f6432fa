"""What lies outside of a spec and its lock, in one frozen value: the Hub, the cache on this disk, the network switch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hubrelease.errors import OutsideError, problem
from hubrelease.hub import Hub, HuggingFaceHub
from hubrelease.progress import SILENT, Progress


def cache_folder() -> Path:
    """Where wheels, git objects and file identities are kept: $XDG_CACHE_HOME/hubrelease, else ~/.cache/hubrelease."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "hubrelease"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Refusals of the disk that holds our cache as OutsideErrors."""
    try:
        yield
    except OSError as error:
        mend = "free space, or set XDG_CACHE_HOME to a folder that you may write to"
        raise OutsideError(problem("disk-fault", str(folder), f"the cache could not be written: {error.strerror}", mend)) from None


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
