"""A tiny random Qwen3.5 with an adapter and a readout, as a release of kind sm120 that `hubrelease build` makes.

tiny_served.py FOLDER LAYERS makes one in FOLDER/release, for bench/server_soak.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
for folder in (HERE.parent / "runtime_engine", HERE.parent):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

SOURCE = HERE.parent.parent / "src"
IMAGE = "docker.io/library/python:3.12.13-bookworm@sha256:3cd9086bdb30f7c9bc08a3fa621d9842e0d3f6f9291aeb4677e0547817c10b12"
BASE, ADAPTER = "example/tiny", "example/tiny-decisions"
CODES = 32


def spec(weights: str) -> dict[str, Any]:
    from hubrelease.serving import sm120

    return {
        "schema": 1,
        "name": "owner/tiny-decisions",
        "version": "1.0.0",
        "license": "apache-2.0",
        "license_text": "canonical",
        "sources": {
            "base_model": {"hf": BASE, "license": "apache-2.0"},
            "decisions": {"hf": ADAPTER, "license": "apache-2.0"},
            "image": {"image": IMAGE, "note": "Digest not resolved here: taken from modules/local/tres_report_html/main.nf of CSOgroup/TrESFlow on GitHub."},
        },
        "weights": {"format": weights},
        "adapter": {"source": "decisions"},
        "runtime": {"kind": "sm120", "image": "image", "packages": [f"{name}==1.0" for name in sm120.IMPORTED]},
    }  # fmt: skip


def files_of(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def build(root: Path, weights: str = "fp8_block", layers: int = 4) -> Path:
    """The release's folder; the last of its layers has full attention. Pinned and fetched from a Hub on loopback; packages are locked as if pip had resolved them."""
    import tiny_release
    from hub import Hub

    tiny_release.write_base(root / "base", num_hidden_layers=layers, full_attention_interval=layers)
    complete_mtp(root / "base" / "model.safetensors", layers - 1)
    tiny_release.write_adapter(root / "adapter", root / "base", codes=CODES)
    asked = spec(weights)
    project = root / "project"
    project.mkdir()
    with Hub() as hub:
        hub.create(BASE, files_of(root / "base"))
        hub.create(ADAPTER, files_of(root / "adapter"))
        env = {**hub.env(root / "home"), "PYTHONPATH": str(SOURCE), "XDG_CACHE_HOME": str(root / "cache")}
        (project / "release.yaml").write_text(json.dumps({**asked, "runtime": {"kind": "verify", "image": "image"}}))
        command(env, "pin", project)
        (project / "release.yaml").write_text(json.dumps(asked))
        lock_packages(project)
        command(env, "build", project, "--out", root / "release", "--locked")
    return root / "release"


def complete_mtp(file: Path, last_layer: int) -> None:
    """Adds the rest of the MTP block, which a release has and the runtime leaves unread: a copy of the last, full-attention layer."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(file)
    last = f"model.language_model.layers.{last_layer}."
    tensors |= {"mtp.layers.0." + name.removeprefix(last): t.clone() for name, t in tensors.items() if name.startswith(last)}
    tensors |= {f"mtp.{name}.weight": tensors["mtp.norm.weight"].clone() for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden")}
    save_file(tensors, file, {"format": "pt"})


def command(env: dict[str, str], *words: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hubrelease", *map(str, words)], env=env, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


def lock_packages(project: Path) -> None:
    import hubrelease
    from hubrelease import lock as locks
    from hubrelease.lock import LockedPackage, LockedPackages
    from hubrelease.serving import sm120

    read = hubrelease.load_spec(project)
    lock, request = locks.read(read), locks.packages_request(read)
    assert lock
    assert request
    packages = tuple(LockedPackage(name, "1.0", ("a" * 64,)) for name in sorted(sm120.IMPORTED))
    locks.path_of(read).write_bytes(locks.dumps(locks.Lock(lock.sources, LockedPackages(request, packages))))


def environment() -> dict[str, str]:
    """Of the server: nothing of ours is on its path, no network is needed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "HF_HUB_OFFLINE")}
    return {**kept, "OMP_NUM_THREADS": "1"}  # threads that spin for a busy core make tiny matrices slow


if __name__ == "__main__":
    print(build(Path(sys.argv[1]), layers=int(sys.argv[2])))
