"""Tiny quantised checkpoints for tests: real names, dtypes and shapes (tests/data/headers-*.json), made-up values that make sense.

config, second, tensors = checkpoint("ct-nvfp4")     a checkpoint as its own tool saved it
release = write(tmp_path, config, tensors)           a folder with config.json and model.safetensors, as a Release
mine(release)                                        the findings of the checks on quantisation, as (kind, severity, file)
"""

from __future__ import annotations

import copy
import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import tiny

from hubrelease import verify_release
from hubrelease.checks import checks
from hubrelease.errors import Problem
from hubrelease.release import Release

DATA = Path(__file__).parent / "data"
CODES = {"HR203", "HR204", *(f"HR{n}" for n in range(250, 290))}
Tensors = dict[str, tuple[str, list[int], bytes]]
SIZE = {"F32": 4, "I32": 4, "U32": 4, "BF16": 2, "F16": 2, "I64": 8, "F64": 8}


@cache
def headers() -> dict[str, dict[str, Any]]:
    """{name: what its file holds} of every saved checkpoint."""
    files = sorted(DATA.glob("headers-*.json"))
    return {name: value for file in files for name, value in json.loads(file.read_text())["checkpoints"].items()}


def checkpoint(name: str) -> tuple[dict[str, Any], dict[str, Any] | None, Tensors]:
    """(config.json, hf_quant_config.json or None, tensors) of a saved checkpoint."""
    found = headers()[name]
    bits = bits_of(found["config"])
    tensors: Tensors = {}
    for form, names in found["tensors"].items():
        dtype, _, text = form.partition(" ")
        shape = [int(size) for size in text.split("x") if size]
        for tensor in names:
            tensors[tensor] = (dtype, shape, b"")
    filled = {n: (d, s, fill(n, d, s, tensors, bits)) for n, (d, s, _) in tensors.items()}
    return copy.deepcopy(found["config"]), copy.deepcopy(found.get("hf_quant_config")), dict(sorted(filled.items()))


def bits_of(config: Mapping[str, Any]) -> int:
    groups = config.get("quantization_config", {}).get("config_groups", {}).values()
    return next((g["weights"]["num_bits"] for g in groups if isinstance(g, dict) and g.get("weights")), 4)


def fill(name: str, dtype: str, shape: Iterable[int], tensors: Mapping[str, Any] = {}, bits: int = 4) -> bytes:
    """Values that a converter could have written."""
    count = math.prod(shape)
    owner, _, leaf = name.rpartition(".")
    if leaf == "weight_shape":
        rows, words = tensors[f"{owner}.weight_packed"][1]
        return struct.pack("<2q", rows, words * 32 // bits)
    if dtype == "F8_E8M0" or (dtype == "U8" and "scale" in leaf):
        return bytes([118]) * count
    if dtype.startswith("F8"):
        return (bytes([0x7E]) + bytes(i % 0x70 for i in range(count - 1)))[:count] if "scale" not in leaf else bytes([0x70]) * count
    value = {"weight_global_scale": 3584.0, "input_global_scale": 128.0, "weight_scale_2": 2.8e-4, "input_scale": 0.0078}.get(leaf, 0.002)
    if dtype == "F32":
        return struct.pack("<f", value) * count
    if dtype in ("BF16", "F16"):
        return (struct.pack("<f", value)[2:] if dtype == "BF16" else struct.pack("<e", value)) * count
    return bytes(i * 37 % 251 for i in range(count * SIZE.get(dtype, 1)))


def scalar(value: float, dtype: str = "F32") -> bytes:
    return struct.pack("<f", value) if dtype == "F32" else struct.pack("<f", value)[2:]


# ------------------------------------------------------------------------------------------------------------ releases


def write(root: Path, config: Mapping[str, Any], tensors: Mapping[str, Any], *, second: object = None, shards: Mapping[str, Iterable[str]] | None = None,
          spec: Mapping[str, Any] | None = None, deep: bool = False, extra: Mapping[str, bytes] | None = None) -> Release:  # fmt: skip
    """A folder with these files as a Release; with `shards` {file: names} an index as well, with `spec` a provenance."""
    files: dict[str, bytes] = {"config.json": tiny.dumps(config), **(extra or {})}
    if second is not None:
        files["hf_quant_config.json"] = tiny.dumps(second)
    if shards is None:
        files["model.safetensors"] = tiny.safetensors(tensors)
    else:
        files |= {file: tiny.safetensors({name: tensors[name] for name in names}) for file, names in shards.items()}
        index = {"metadata": {}, "weight_map": {name: file for file, names in shards.items() for name in names}}
        files["model.safetensors.index.json"] = tiny.dumps(index)
    tiny.write(root, files)
    if spec is not None:
        tiny.seal(root, spec)
    return Release(root, verify_release.check_folder(root), deep=deep)


def problems(release: Release) -> list[Problem]:
    return [problem for check in checks() if check.code in CODES for problem in check.run(release)]


def mine(release: Release) -> set[tuple[str, str, str]]:
    return {(p.kind, p.severity, p.where.file) for p in problems(release)}


def kinds(release: Release) -> set[str]:
    return {p.kind for p in problems(release)}


def saved(root: Path, name: str, change: Callable[..., object] | None = None, **options: Any) -> Release:
    """A saved checkpoint as a release. `change(config, tensors)` spoils it; with three parameters it gets hf_quant_config.json too."""
    config, second, tensors = checkpoint(name)
    if change is not None:
        arguments = (config, tensors, second)
        change(*arguments[: change.__code__.co_argcount])
    return write(root, config, tensors, second=second, **options)


def block(config: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config["quantization_config"]
    return found


# ------------------------------------------------------------------------------------- checkpoints of methods that need a GPU


def packed_integers(method: str, **more: Any) -> tuple[dict[str, Any], Tensors]:
    """An AWQ or GPTQ checkpoint by the names and shapes of vLLM 0.32.0's loaders: out 64, in 128, groups of 32."""
    tensors: Tensors = {"model.embed_tokens.weight": ("BF16", [64, 128], fill("w", "BF16", [64, 128]))}
    for layer in range(2):
        for leaf in ("q_proj", "k_proj", "v_proj", "o_proj"):
            name = f"model.layers.{layer}.self_attn.{leaf}"
            shapes = {"qweight": [128, 8] if method == "awq" else [16, 64], "qzeros": [4, 8], "scales": [4, 64]}
            for part, shape in shapes.items():
                dtype = "F16" if part == "scales" else "I32"
                tensors[f"{name}.{part}"] = (dtype, shape, fill(f"{name}.{part}", dtype, shape))
    return model({"quant_method": method, "bits": 4, "group_size": 32, **more}), tensors


def mxfp4() -> tuple[dict[str, Any], Tensors]:
    """gpt-oss: experts stacked in *_blocks and *_scales, all else BF16 (transformers 5.24.0 integrations/mxfp4.py)."""
    tensors: Tensors = {}
    for name, dtype, shape in (
        ("model.embed_tokens.weight", "BF16", [64, 128]), ("model.layers.0.self_attn.q_proj.weight", "BF16", [64, 128]),
        ("model.layers.0.mlp.router.weight", "BF16", [2, 128]), ("model.layers.0.mlp.experts.gate_up_proj_blocks", "U8", [2, 128, 4, 16]),
        ("model.layers.0.mlp.experts.gate_up_proj_scales", "U8", [2, 128, 4]), ("model.layers.0.mlp.experts.gate_up_proj_bias", "BF16", [2, 128]),
        ("model.layers.0.mlp.experts.down_proj_blocks", "U8", [2, 128, 2, 16]), ("model.layers.0.mlp.experts.down_proj_scales", "U8", [2, 128, 2]),
    ):  # fmt: skip
        tensors[name] = (dtype, shape, fill(name, dtype, shape))
    config = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"]}
    return model(config), tensors


def model(quantisation: Mapping[str, Any]) -> dict[str, Any]:
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "quantization_config": dict(quantisation)}
