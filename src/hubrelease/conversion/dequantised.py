"""A converted checkpoint as a plain one: every tensor of the base, as the release stands for it, by conversion_manifest.json.

For readers that a machine lacks, and to hold a reader against: weights are rounded as arithmetic/dequantise.py says.
Needs torch and safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hubrelease.arithmetic.dequantise import dequantised
from hubrelease.conversion import configs
from hubrelease.conversion.rows import MANIFEST
from hubrelease.conversion.rules import WEIGHT
from hubrelease.errors import CheckFailed, problem
from hubrelease.formats import named

if TYPE_CHECKING:
    import torch


def tensors(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """(name in the base, tensor) of every tensor that was kept, in order of name. CheckFailed without a usable manifest."""
    import torch

    manifest = manifest_of(folder)
    form, parts = str(manifest["format"]), parts_of(manifest["tensors"])
    dtypes = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
    for row in manifest["tensors"]:
        source = row.get("source", {})
        if row["relation"] in ("identical", "renamed"):
            yield source["tensor"], read(folder, row["file"], row["name"])
        elif row["relation"] == "quantized":
            module = source["tensor"].removesuffix(WEIGHT)
            found = {suffix: read(folder, file, module + suffix) for suffix, file in parts[module].items()}
            yield source["tensor"], dequantised(form, found, dtypes[source["dtype"]])


def manifest_of(folder: Path) -> Mapping[str, Any]:
    try:
        value: Mapping[str, Any] = json.loads((folder / MANIFEST).read_bytes())
        named(str(value["format"]))
        if isinstance(value["tensors"], list):
            return value
    except (OSError, ValueError, KeyError, TypeError):
        pass
    message = "is absent or malformed: the folder's weights can't be turned back"
    raise CheckFailed(problem("weights-unusable", MANIFEST, message, "name a folder that hubrelease converted"))


def parts_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """{module: {suffix: file}} of all that quantising made."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["relation"] in ("quantized", "scale"):
            module = row["source"]["tensor"].removesuffix(WEIGHT)
            found.setdefault(module, {})[row["name"].removeprefix(module)] = row["file"]
    return found


def read(folder: Path, file: str, name: str) -> torch.Tensor:
    from safetensors import safe_open

    with safe_open(folder / file, "pt") as shard:
        found: torch.Tensor = shard.get_tensor(name)
        return found


def write_plain(folder: Path, out: Path) -> None:
    """The checkpoint that the release stands for, unquantised, into a new folder, with the small files that transformers reads."""
    from safetensors.torch import save_file

    out.mkdir(parents=True)
    save_file(dict(tensors(folder)), out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_bytes())
    config.pop("quantization_config", None)
    (out / "config.json").write_bytes(configs.dumps(config))
    left = ("config.json", MANIFEST, "hf_quant_config.json", "model.safetensors.index.json")
    for path in sorted(folder.glob("*")):
        if path.suffix in (".json", ".jinja", ".model", ".txt") and path.name not in left:
            (out / path.name).write_bytes(path.read_bytes())
