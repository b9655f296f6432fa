"""What this machine can do for a release: packages, programs, GPU, token, file system. Tells presence, never a token's value."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from hubrelease.outside import cache_folder, network_is_off


@dataclass(frozen=True, slots=True)
class Item:
    """One thing: whether it is there, what was found, and how to get it."""

    what: str
    ok: bool
    found: str
    mend: str


def examine() -> list[Item]:
    return [python(), *packages(), *programs(), gpu(), token(), network(), cache()]


def python() -> Item:
    return Item("Python", True, platform.python_version(), "")


def packages() -> Iterator[Item]:
    wanted = {
        "huggingface_hub": "",
        "safetensors": "",
        "nh3": "preview",
        "torch": "convert",
        "triton": "runtime",
        "flashinfer-python": "runtime",
        "transformers": "validate",
        "matplotlib": "plots",
    }
    for name, extra in wanted.items():
        mend = f"pip install 'hubrelease[{extra}]'" if extra else "pip install --force-reinstall hubrelease"
        try:
            yield Item(name, True, metadata.version(name), mend)
        except metadata.PackageNotFoundError:
            yield Item(name, False, "", mend + ("  (packaging and verifying need none of it)" if extra else ""))


def programs() -> Iterator[Item]:
    for name, why in (("git", "git sources"), ("docker", "building the image of a release"), ("hf", "publishing")):
        path = shutil.which(name)
        yield Item(name, path is not None, path or "", f"install {name}: needed for {why}")


def gpu() -> Item:
    mend = "run `hubrelease validate` on a machine with an NVIDIA GPU; building and verifying need none"
    if shutil.which("nvidia-smi") is None:
        return Item("GPU", False, "", mend)
    asked = ["nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Item("GPU", False, "", f"nvidia-smi does not answer ({type(error).__name__}); {mend}")
    return Item("GPU", done.returncode == 0, done.stdout.strip().replace("\n", "; "), mend)


def token() -> Item:
    try:
        from huggingface_hub import get_token

        present = bool(get_token())
    except ImportError:
        present = False
    return Item(
        "Hub token",
        present,
        "present (value not shown)",
        "hf auth login: needed for private and gated sources, and for publishing",
    )


def network() -> Item:
    return Item(
        "network",
        not network_is_off(),
        os.environ.get("HF_ENDPOINT", "https://huggingface.co"),
        "unset HF_HUB_OFFLINE to fetch",
    )


def cache() -> Item:
    folder = cache_folder()
    there = next((p for p in (folder, *folder.parents) if p.exists()), Path("/"))
    return Item(
        "cache",
        os.access(there, os.W_OK),
        str(folder),
        f"give yourself the right to write to {there}, or set XDG_CACHE_HOME",
    )
