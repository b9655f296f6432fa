from __future__ import annotations

import json

import pytest
import tiny
from weight_files import INDEX, index_of, judged, one, sharded

KIND = "unreferenced-weights"
MTP = tiny.safetensors({"mtp.fc.weight": tiny.bf16("mtp", 4, 4)})
SCALES = tiny.safetensors({f"model.layers.{n}.mlp.down_proj.input_scale": ("F32", [1], bytes([0, 0, 128, 63])) for n in range(2)})
LORA = tiny.safetensors({"base_model.model.model.layers.0.mlp.up_proj.lora_A.weight": tiny.bf16("a", 2, 8)})


@pytest.mark.parametrize("files", [sharded(), {}], ids=["index", "single"])
@pytest.mark.parametrize(
    ("name", "data"), [("mtp.safetensors", MTP), ("model-mtp.safetensors", MTP), ("activation_scales.safetensors", SCALES)]
)
def test_bad_a_file_that_no_loader_opens(tmp_path, files, name, data):
    found = one(tmp_path, {**files, name: data})
    assert (found.kind, found.severity, found.where.file) == (KIND, "error", name)
    assert ".weight" in found.message or ".input_scale" in found.message


def test_bad_a_further_shard(tmp_path):
    assert judged(tmp_path, {**sharded(), "model-00003-of-00003.safetensors": MTP})[-1] == (
        KIND,
        "error",
        "model-00003-of-00003.safetensors",
    )


def test_bad_scales_in_a_folder_of_their_own(tmp_path):
    assert judged(tmp_path, {**sharded(), "scales/activation_scales.safetensors": SCALES}) == [
        (KIND, "warning", "scales/activation_scales.safetensors")
    ]


def test_bad_a_listing_is_no_loader(tmp_path):
    listing = json.dumps({"files": ["mtp.safetensors"]}).encode()
    assert judged(tmp_path, {"mtp.safetensors": MTP, "manifest.json": listing, "README.md": tiny.CARD.encode() + b"mtp.safetensors\n"}) == [
        (KIND, "error", "mtp.safetensors")
    ]


def test_bad_another_library_s_whole_copy_is_a_warning(tmp_path):
    other = {f"visual.blocks.{n}.attn": tensor for n, tensor in enumerate(tiny.weights().values())}
    assert judged(tmp_path, {"whole.safetensors": tiny.safetensors(other)}) == [(KIND, "warning", "whole.safetensors")]


def test_good_declared(tmp_path):
    spec = {
        "weights": {
            "format": "bf16",
            "auxiliary": [{"path": name, "purpose": "read by the runtime"} for name in ("mtp.safetensors", "s/a.safetensors")],
        }
    }
    assert not judged(tmp_path, {**sharded(), "mtp.safetensors": MTP, "s/a.safetensors": SCALES}, spec)


@pytest.mark.parametrize(
    "auxiliary",
    [None, 1, "mtp.safetensors", ["mtp.safetensors"], [{"path": 7}], [{"path": ["mtp.safetensors"]}], {"path": "mtp.safetensors"}],
)
def test_bad_declared_in_no_form(tmp_path, auxiliary):
    assert judged(tmp_path, {"mtp.safetensors": MTP}, {"weights": {"auxiliary": auxiliary}}) == [(KIND, "error", "mtp.safetensors")]


@pytest.mark.parametrize("files", [
    {"adapter_model.safetensors": LORA, "adapter_config.json": b"{}"},
    {"style.safetensors": LORA},
    {"draft/model.safetensors": MTP, "draft/config.json": b"{}"},
    {"2_Dense/model.safetensors": tiny.safetensors({"linear.weight": tiny.bf16("x", 2)}, {}), "2_Dense/config.json": b"{}", "modules.json": b"[]"},
    {"vae/diffusion_pytorch_model.safetensors": MTP},
    {"tokenizer-e351c8d8.safetensors": MTP, "config.json": b'{"model_type": "moshi", "mimi_name": "tokenizer-e351c8d8.safetensors"}'},
    {"mtp.safetensors": MTP, "modeling_tiny.py": b"FILE = 'mtp.safetensors'\n"},
    {"open_clip_model.safetensors": MTP},
    {"loras/a.safetensors": LORA, "loras/b.safetensors": LORA},
])  # fmt: skip
def test_good_files_with_a_reason(tmp_path, files):
    assert not judged(tmp_path, files)


def test_good_no_config_no_set(tmp_path):
    assert not judged(tmp_path, {"config.json": None, "model.safetensors": None, "flux1-dev.safetensors": MTP, "ae.safetensors": LORA})


def test_good_an_unreadable_index_is_one_finding(tmp_path):
    assert judged(tmp_path, {**sharded(), INDEX: b"{", "mtp.safetensors": MTP}) == [("index-invalid", "error", INDEX)]


def test_good_in_the_index(tmp_path):
    shards = {"model.safetensors": tiny.weights(), "mtp.safetensors": {"mtp.fc.weight": tiny.bf16("mtp", 4, 4)}}
    files = {file: tiny.safetensors(held) for file, held in shards.items()}
    assert not judged(tmp_path, {**files, INDEX: tiny.dumps(index_of(shards))})
