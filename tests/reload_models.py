"""What transformers makes of a release beside our own reading of it: `python reload_models.py RELEASE BASE`, one JSON object out.

Runs in an environment with torch, transformers and compressed-tensors (models_env.py). Three models: the base, the release
through its reader, the release turned back to plain weights by hubrelease.conversion.dequantised.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file

from hubrelease.conversion import dequantised

FIRST, LENGTH = 5, 48


def main(release: Path, base: Path) -> dict[str, Any]:
    config = json.loads((release / "config.json").read_text())
    kind = getattr(transformers, config["architectures"][0])
    block = config.get("quantization_config", {})
    method = block.get("quant_method", "none")
    with tempfile.TemporaryDirectory() as scratch:
        dequantised.write_plain(release, Path(scratch) / "plain")
        ours, ours_info = load(kind, Path(scratch) / "plain")
    source, _ = load(kind, base)
    found: dict[str, Any] = {"reader": method, "ours": ours_info}
    if method == "modelopt":  # transformers has no reader for it
        return {**found, "oursAgainstSource": cosine(logits(ours), logits(source)), "translated": translated(release)}
    if method == "compressed-tensors":
        found["byModule"] = by_module(release, block)
    try:
        reader, info = load(kind, release)
    except RuntimeError as error:  # transformers 5.24.0 joins a layer's experts and does not know their packed parts
        return {**found, "readerError": str(error), "oursAgainstSource": cosine(logits(ours), logits(source))}
    running = logits(reader)  # with activations quantised where the format says so
    dense, _ = load(kind, release, dense=method == "compressed-tensors")
    found |= {"read": info, "weights": compare(dense, ours)}
    found |= {"denseLogitsEqual": torch.equal(logits(dense), logits(ours)), "runningFinite": bool(torch.isfinite(running).all())}
    found |= {"runningAgainstOurs": cosine(running, logits(ours)), "oursAgainstSource": cosine(logits(ours), logits(source))}
    return found


def translated(release: Path) -> dict[str, Any]:
    """The tensors as compressed-tensors' own converter turns them, read by compressed-tensors; it divides by 1 / weight_scale_2.

    Its `convert_checkpoint` goes shard by shard and knows no shard of activation scales alone, so the tensors are given to it at once.
    """
    from compressed_tensors.entrypoints.convert.converters import ModelOptNvfp4Converter

    rows = json.loads((release / "conversion_manifest.json").read_text())["tensors"]
    names = sorted(row["source"]["tensor"].removesuffix(".weight") for row in rows if row["relation"] == "quantized")
    state: dict[str, torch.Tensor] = {}
    for path in sorted(release.glob("*.safetensors")):
        state |= load_file(path)
    state = ModelOptNvfp4Converter(targets=names).process(state)
    assert all(f"{name}.input_global_scale" in state for name in names)
    own = dict(dequantised.tensors(release))
    worst = max(apart(unpacked(state, name).float(), own[f"{name}.weight"].float()) for name in names)
    return {"modules": len(names), "worst": worst}


def by_module(release: Path, block: dict[str, Any]) -> dict[str, int]:
    """Every quantised weight as compressed-tensors turns its parts back, against ours: how many differ in a bit."""
    state: dict[str, torch.Tensor] = {}
    for path in sorted(release.glob("*.safetensors")):
        state |= load_file(path)
    (group,) = block["config_groups"].values()
    own = dict(dequantised.tensors(release))
    names = [name.rpartition(".weight_scale")[0] for name in state if name.endswith(".weight_scale")]
    differing = sum(not torch.equal(unpacked(state, name, group).to(own[f"{name}.weight"].dtype), own[f"{name}.weight"]) for name in names)
    return {"compared": len(names), "differing": differing}


NVFP4 = {"format": "nvfp4-pack-quantized", "targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group",
         "group_size": 16, "symmetric": True, "dynamic": False}}  # fmt: skip


def unpacked(state: dict[str, torch.Tensor], name: str, group: dict[str, Any] = NVFP4) -> torch.Tensor:
    """A module as compressed-tensors reads it."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization.quant_scheme import QuantizationScheme

    parts = {key.removeprefix(f"{name}."): value for key, value in state.items() if key.rpartition(".")[0] == name}
    compressor = BaseCompressor.get_value_from_registry(group["format"])
    found: torch.Tensor = compressor.decompress(parts, QuantizationScheme.model_validate(group))["weight"]
    return found


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference, relative to the larger of the two."""
    return float(((a - b).abs() / torch.maximum(a.abs(), b.abs()).clamp_min(1e-30)).max())


def load(kind: Any, folder: Path, dense: bool = False) -> tuple[Any, dict[str, Any]]:
    more = {"quantization_config": transformers.CompressedTensorsConfig(run_compressed=False)} if dense else {}
    model, info = kind.from_pretrained(folder, dtype="auto", output_loading_info=True, **more)
    told = {key: sorted(str(x) for x in info.get(key, ())) for key in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs")}
    return model.eval(), told


def logits(model: Any) -> torch.Tensor:
    ids = torch.arange(FIRST, FIRST + LENGTH)[None]
    with torch.no_grad():
        return model(input_ids=ids).logits.float()


def compare(reader: Any, ours: Any) -> dict[str, Any]:
    """Parameters of the reader's dense model and of ours, bit for bit."""
    theirs, differing, compared = dict(reader.named_parameters()), [], 0
    for name, weight in ours.named_parameters():
        if name in theirs and theirs[name].shape == weight.shape:
            compared += 1
            if not torch.equal(theirs[name].float(), weight.float()):
                differing.append(name)
    return {"compared": compared, "of": len(list(ours.named_parameters())), "differing": differing[:5], "count": len(differing)}


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0))


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
