from __future__ import annotations

import pytest
import tiny
from weight_files import gguf, judged, one, sharded

EMPTY = ("BF16", [0], b"")


def without_elements(*names: str, tensor=EMPTY):
    return {"model.safetensors": tiny.safetensors({**tiny.weights(), **dict.fromkeys(names, tensor)})}


@pytest.mark.parametrize(
    "names", [["model.layers.1.self_attn.k_proj.weight"], ["model.norm.weight"], ["lm_head.weight"], list(tiny.weights())]
)
def test_bad_weights_that_were_not_gathered(tmp_path, names):
    found = one(tmp_path, without_elements(*names))
    assert (found.kind, found.severity, found.where.file) == ("zero-size-weight", "error", "model.safetensors")
    assert found.where.tensor in names
    assert "[0]" in found.message


@pytest.mark.parametrize("shape", [[0, 8], [8, 0], [2, 0, 4]])
def test_bad_any_dimension(tmp_path, shape):
    assert one(tmp_path, without_elements("lm_head.weight", tensor=("F16", shape, b""))).kind == "zero-size-weight"


@pytest.mark.parametrize(
    "name", ["model.layers.0.mlp.experts.down_proj", "model.layers.0.mlp.up_proj.weight_packed", "model.layers.0.mlp.up_proj.qweight"]
)
def test_bad_other_names_of_weights(tmp_path, name):
    assert one(tmp_path, without_elements(name)).where.tensor == name


def test_bad_what_has_elements_in_another_layer(tmp_path):
    tensors = {**tiny.weights(), "model.layers.0.attn.sinks": tiny.bf16("s", 4), "model.layers.1.attn.sinks": EMPTY}
    assert one(tmp_path, {"model.safetensors": tiny.safetensors(tensors)}).where.tensor == "model.layers.1.attn.sinks"


@pytest.mark.parametrize("path", ["adapter_model.safetensors", "adapter/adapter_model.safetensors", "pytorch_lora_weights.safetensors"])
def test_bad_an_adapter_without_tensors(tmp_path, path):
    found = one(tmp_path, {path: tiny.safetensors({})})
    assert (found.kind, found.severity, found.where.file) == ("zero-size-weight", "error", path)


def test_bad_an_adapter_of_nothing(tmp_path):
    tensors = {f"base_model.model.layers.{n}.q_proj.lora_{x}.weight": EMPTY for n in range(4) for x in "AB"}
    assert "8 weights" in one(tmp_path, {"adapter_model.safetensors": tiny.safetensors(tensors)}).message


def test_bad_a_model_without_tensors(tmp_path):
    assert one(tmp_path, {"model.safetensors": tiny.safetensors({})}).kind == "zero-size-weight"


def test_bad_gguf(tmp_path):
    assert judged(tmp_path, {"m.gguf": gguf({"a.weight": (0, [4], bytes(16)), "b.weight": (0, [0], b"")})}) == [
        ("zero-size-weight", "error", "m.gguf")
    ]


def test_bad_in_a_shard(tmp_path):
    tensors = {**tiny.weights(), "model.norm.weight": EMPTY}
    assert judged(tmp_path, sharded(tensors)) == [("zero-size-weight", "error", "model-00002-of-00002.safetensors")]


@pytest.mark.parametrize("name", ["scaled_fp8", "model.layers.0.self_attn._extra_state", "model.layers.0.register_tokens"])
def test_good_markers(tmp_path, name):
    assert not judged(tmp_path, without_elements(name))


def test_good_extra_states_of_several_layers(tmp_path):
    tensors = {**tiny.weights(), "model.layers.0.q._extra_state": tiny.bf16("s", 4), "model.layers.1.q._extra_state": EMPTY}
    assert not judged(tmp_path, {"model.safetensors": tiny.safetensors(tensors)})
