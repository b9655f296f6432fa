"""The presets as llmcompressor's `model_free_ptq` writes them, from a checkpoint that holds the samples.

python llmcompressor_model_free.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import exchange
from llmcompressor import model_free_ptq
from safetensors import safe_open
from safetensors.torch import save_file

PRESETS = {"fp8_dynamic": "FP8_DYNAMIC", "nvfp4a16": "NVFP4A16", "w8a16": "W8A16", "w4a16": "W4A16"}


def main(folder: Path) -> None:
    given = list(exchange.samples(folder))
    names = {module(given, one): one for one in given}
    source = folder / "checkpoint"
    source.mkdir()
    save_file({f"{name}.weight": one.weight for name, one in names.items()}, source / "model.safetensors", {"format": "pt"})
    (source / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}))
    for name, preset in PRESETS.items():
        made = folder / f"made-{name}"
        model_free_ptq(str(source), str(made), scheme=preset, ignore=["lm_head"], max_workers=1, device="cpu")
        read(folder, name, made / "model.safetensors", names)
    exchange.write_versions(folder, "torch", "llmcompressor", "compressed-tensors", "transformers")


def module(given: list[exchange.Given], one: exchange.Given) -> str:
    """Names by which it knows a fused set."""
    if not one.fused:
        return f"model.layers.{one.number}.mlp.down_proj"
    letter = "qkv"[[g.name for g in given if g.fused == one.fused].index(one.name)]
    return f"model.layers.0.self_attn.{letter}_proj"


def read(folder: Path, name: str, made: Path, names: dict[str, exchange.Given]) -> None:
    with safe_open(made, "pt") as tensors:
        listed = tensors.keys()
        for key in listed:
            prefix, part = key.rsplit(".", 1)
            exchange.write(folder, name, names[prefix].number, {f".{part}": tensors.get_tensor(key)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
