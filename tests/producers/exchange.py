"""Samples in, parts out, as files: how a test and a producer in an environment of its own talk. Needs torch alone.

`samples.json` lists name, dtype, rows, columns, fused; `<n>.in` has the bytes of the n-th. A producer writes `<n><suffix>`
for each of a format's parts into a folder of the format's name, and `versions.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch

DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}


@dataclass(frozen=True)
class Given:
    number: int
    name: str
    fused: str
    weight: torch.Tensor


def samples(folder: Path) -> Iterator[Given]:
    for number, sample in enumerate(json.loads((folder / "samples.json").read_text())):
        data = bytearray((folder / f"{number}.in").read_bytes())
        weight = torch.frombuffer(data, dtype=DTYPES[sample["dtype"]]).view(sample["rows"], sample["columns"])
        yield Given(number, sample["name"], sample["fused"], weight)


def shared_amax(given: list[Given], one: Given) -> torch.Tensor:
    """The largest magnitude of the set that a sample belongs to, in its dtype."""
    members = [g for g in given if g is one or (one.fused and g.fused == one.fused)]
    return torch.stack([g.weight.abs().amax() for g in members]).amax()


def write(folder: Path, name: str, number: int, parts: Mapping[str, torch.Tensor]) -> None:
    (folder / name).mkdir(exist_ok=True)
    for part, tensor in parts.items():
        data = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        (folder / name / f"{number}{part}").write_bytes(data)


def write_versions(folder: Path, *packages: str) -> None:
    (folder / "versions.json").write_text(json.dumps({name: version(name) for name in packages}))
