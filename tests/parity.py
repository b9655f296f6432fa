"""Our bytes of the parity samples beside those of the formats' producers, live or as the digests in data/parity."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import parity_tensors
import pytest
from parity_tensors import SAMPLES, Sample

from hubrelease.formats import Format, Strip, Sums, named

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data" / "parity"
PRODUCERS = Path(__file__).parent / "producers"
ENVIRONMENTS = ROOT / ".parity"
HAS_TORCH = find_spec("torch") is not None
PATHS = ["native", pytest.param("torch", marks=pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed"))]
MENDED = {
    ("fp8_block", "subnormals"): "block maxima under 1.3e-36: the producer writes scale 0 and NaN codes, we write scale 1 and codes 0",
    ("fp8_block", "F32 at 1e-40"): "the same",
    ("modelopt_nvfp4", "zeros"): "a weight of zeros: the producer writes NaN as scales, we write 1 and a second scale of 1",
}


@dataclass(frozen=True)
class Producer:
    """A script in producers/, what its environment needs, and the formats that it makes."""

    name: str
    script: str
    requirements: tuple[str, ...]
    formats: tuple[str, ...]

    @property
    def file(self) -> Path:
        return DATA / f"{self.name}.json"


PRESETS = ("fp8_dynamic", "nvfp4a16", "w4a16", "w8a16")
ALL = (
    Producer(
        "transformers-and-compressed-tensors",
        "transformers_and_compressed_tensors.py",
        ("torch==2.13.0", "transformers==5.24.0", "compressed-tensors==0.20.1", "accelerate==1.15.0", "numpy"),
        ("fp8_block", *PRESETS),
    ),
    Producer("llmcompressor", "llmcompressor_model_free.py", ("torch==2.13.0", "llmcompressor==0.14.0.1"), PRESETS),
    Producer(
        "modelopt",
        "modelopt_nvfp4.py",
        ("torch==2.13.0", "nvidia-modelopt==0.47.0", "transformers==5.24.0", "accelerate==1.15.0", "requests", "datasets", "numpy"),
        ("modelopt_nvfp4",),
    ),
)


def form_of(name: str) -> Format:
    """Formats as the producers' scripts make them: weights alone."""
    return named(name, {"weight_only": True} if name == "modelopt_nvfp4" else {})


def ours(form: Format, sample: Sample, path: str, device: str = "cpu") -> tuple[dict[str, bytes], Sums]:
    """{suffix: bytes} of a sample in a format, and what rounding did to it."""
    encoder = form.encoder(device, path, sample.dtype)
    amax = parity_tensors.amax(sample) if form.needs_shared_amax else None
    done = encoder.encode(Strip(sample.data, sample.dtype, sample.rows, sample.columns), amax)
    small = encoder.constants(amax, None, (sample.rows, sample.columns), sample.dtype)
    filled = {"codes": bytes(done.codes), "scales": bytes(done.scales)}
    parts = form.parts(sample.rows, sample.columns, sample.dtype)
    return {part.suffix: filled.get(part.role) or small[part.suffix] for part in parts}, done.sums


def fits(sample: Sample, path: str) -> bool:
    return path != "native" or sample.dtype == "BF16"


def differing_bits(a: bytes, b: bytes) -> int:
    assert len(a) == len(b)
    return (int.from_bytes(a, "little") ^ int.from_bytes(b, "little")).bit_count()


def digest(data: bytes) -> dict[str, str]:
    """What is kept of a part: all of it as a digest, its first bytes to look at."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "begins": data[:24].hex()}


@cache
def kept(producer: Producer) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    """{format: {sample: {suffix: digest}}} as the producer made it once."""
    parts: dict[str, dict[str, dict[str, dict[str, str]]]] = json.loads(producer.file.read_text())["parts"]
    return parts


# -------------------------------------------------------------------------------------------------- running a producer


def environment(producer: Producer) -> Path:
    """The interpreter of the producer's own environment, made once and kept. Skips where it can't be made."""
    key = hashlib.sha256("\n".join(producer.requirements).encode()).hexdigest()[:12]
    folder = ENVIRONMENTS / f"{producer.name}-{key}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *producer.requirements]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{producer.name} can't be installed here: {done.stderr.strip().splitlines()[-1]}")
        (folder / ".ready").touch()
    return python


def run(producer: Producer, folder: Path) -> dict[str, str]:
    """Lets the producer round all samples into `folder`; its versions."""
    listed = [{"name": s.name, "dtype": s.dtype, "rows": s.rows, "columns": s.columns, "fused": s.fused} for s in SAMPLES]
    (folder / "samples.json").write_text(json.dumps(listed))
    for number, sample in enumerate(SAMPLES):
        (folder / f"{number}.in").write_bytes(sample.data)
    command = [environment(producer), PRODUCERS / producer.script, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    versions: dict[str, str] = json.loads((folder / "versions.json").read_text())
    return versions


def theirs(folder: Path, form: Format) -> Iterator[tuple[Sample, dict[str, bytes]]]:
    """What a producer wrote of each sample, in one format."""
    for number, sample in enumerate(SAMPLES):
        parts = form.parts(sample.rows, sample.columns, sample.dtype)
        yield sample, {part.suffix: (folder / form.name / f"{number}{part.suffix}").read_bytes() for part in parts}
