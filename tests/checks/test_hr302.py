from __future__ import annotations

import pytest
import quantised
from meaning import changed, folder, is_ours, judged, kinds, one, problems_of, reshaped, saved, zeros

from hubrelease.checks import checks


def test_bad_a_weight_of_another_shape(tmp_path):
    found = one(tmp_path, reshaped({"model.layers.1.self_attn.o_proj.weight": [4, 8]}))
    assert (found.kind, found.severity, found.where.tensor) == ("shape-mismatch", "error", "model.layers.1.self_attn.o_proj.weight")
    assert "[4, 8]" in found.message
    assert "[8, 8]" in found.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", 16),
        ("intermediate_size", 32),
        ("vocab_size", 17),
        ("num_attention_heads", 4),
        ("num_key_value_heads", 1),
        ("head_dim", 8),
    ],
)
def test_bad_a_size_in_the_config(tmp_path, key, value):
    found = judged(tmp_path, changed("config.json", **{key: value}))
    if key == "num_attention_heads":  # 4 heads of 2 over 8 columns are as good as 2 of 4, but for keys and values
        assert set(found) == {("shape-mismatch", "error", "model.safetensors")}
        assert len(found) == 2
    assert set(found) == {("shape-mismatch", "error", "model.safetensors")}


@pytest.mark.parametrize(
    ("family", "key"),
    [
        ("qwen3_5", "linear_num_value_heads"),
        ("glm5_next", "q_lora_rank"),
        ("deepseek_v3", "kv_lora_rank"),
        ("mixtral", "intermediate_size"),
    ],
)
def test_bad_sizes_of_other_families(tmp_path, family, key):
    def change(config, tensors):
        config.get("text_config", config)[key] *= 2

    assert "shape-mismatch" in {p.kind for p in problems_of(folder(tmp_path, saved(family, change)))}


@pytest.mark.parametrize("name", ["ct-nvfp4", "ct-w4a16", "ct-w3a16", "mo-nvfp4", "mo-int4-awq", "ct-fp8", "tf-fp8-dense", "tf-bnb-nf4"])
@pytest.mark.parametrize("inner", [256, 512])
def test_bad_packed_weights_and_good_ones(tmp_path, name, inner):
    config, second, tensors = quantised.checkpoint(name)
    size = tensors["model.layers.0.self_attn.q_norm.weight"][1][0]
    keys = next(t for n, t in tensors.items() if n.startswith("model.layers.0.self_attn.k_proj.weight") and len(t[1]) == 2)[1][0]
    keys = 128 if "bnb" in name else keys * 2 if name == "mo-int4-awq" else keys
    config.update(
        hidden_size=128,
        intermediate_size=inner,
        vocab_size=160,
        head_dim=size,
        num_attention_heads=128 // size,
        num_key_value_heads=keys // size,
    )
    release = quantised.write(tmp_path, config, tensors, second=second)
    found = [p for check in checks() if is_ours(check.code) for p in check.run(release)]
    told = inner == 512 and name != "tf-bnb-nf4"  # that format doesn't keep the shape
    assert set(kinds(found)) == ({("shape-mismatch", "error", "model.safetensors")} if told else set())


def test_good_no_elements_is_another_finding(tmp_path):
    assert judged(tmp_path, reshaped({"model.layers.1.self_attn.o_proj.weight": zeros("BF16", [0])})) == []


def test_good_sizes_that_are_no_numbers_decide_nothing(tmp_path):
    assert judged(tmp_path, changed("config.json", hidden_size="8")) == []
