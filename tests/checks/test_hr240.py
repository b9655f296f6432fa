from __future__ import annotations

import pytest
import tiny
from weight_files import judged, one, raw, sharded, shards_of

WEIGHTS = tiny.weights()
NONE = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}


@pytest.mark.parametrize(
    "metadata", [None, {}, {"producer": "x"}, {"format": "safetensors"}, {"format": ""}, {"format": "PT"}, {"Format": "pt"}]
)
def test_bad_no_format_that_transformers_knows(tmp_path, metadata):
    header = NONE if metadata is None else {"__metadata__": metadata, **NONE}
    found = one(tmp_path, {"model.safetensors": raw(header, bytes(8))})
    assert (found.kind, found.severity, found.where.file) == ("no-format-metadata", "warning", "model.safetensors")


def test_bad_in_each_shard(tmp_path):
    shards = shards_of(WEIGHTS, 3)
    files = sharded(count=3)
    for file in list(shards)[1:]:
        files[file] = tiny.safetensors(shards[file], {})
    assert judged(tmp_path, files) == [("no-format-metadata", "warning", file) for file in list(shards)[1:]]


@pytest.mark.parametrize("name", ["pt", "tf", "flax", "mlx"])
def test_good_formats(tmp_path, name):
    assert not judged(tmp_path, {"model.safetensors": tiny.safetensors(WEIGHTS, {"format": name, "producer": "x"})})


def test_good_files_that_transformers_does_not_load(tmp_path):
    plain = tiny.safetensors({"linear.weight": tiny.bf16("x", 2)}, {})
    dense = {"2_Dense/model.safetensors": plain, "2_Dense/config.json": b'{"in_features": 2, "activation_function": "torch.nn.Tanh"}'}
    lora = {"adapter_model.safetensors": tiny.safetensors({"x.lora_A.weight": tiny.bf16("x", 2)}, {})}
    pipeline = {"vae/diffusion_pytorch_model.safetensors": plain, "vae/config.json": b'{"_class_name": "AutoencoderKL"}'}
    assert not judged(tmp_path, {**dense, **lora, **pipeline})


def test_good_no_transformers_config(tmp_path):
    assert not judged(tmp_path, {"config.json": None, "model.safetensors": tiny.safetensors(WEIGHTS, {})})
