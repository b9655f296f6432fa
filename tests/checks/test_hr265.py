from __future__ import annotations

import pytest
import quantised as q


def whole(config, tensors):
    for name in [n for n in tensors if not n.endswith(("norm.weight", "embed_tokens.weight", "lm_head.weight"))]:
        shape = tensors.pop(name)[1]
        if name.endswith((".weight", ".weight_packed")):
            tensors[name.replace("_packed", "")] = ("BF16", shape, q.fill("x", "BF16", shape))


@pytest.mark.parametrize("name", ["ct-nvfp4", "ct-w4a16", "tf-fp8-dense", "tf-bnb-nf4", "tf-bnb-int8", "tf-torchao-int8wo"])
def test_bad_every_tensor_is_whole(tmp_path, name):
    assert q.mine(q.saved(tmp_path, name, whole)) == {("stale-quant-config", "error", "config.json")}


def test_bad_in_every_place_of_a_config(tmp_path):
    _, _, tensors = q.checkpoint("ct-nvfp4")
    whole({}, tensors)
    block = q.block(q.checkpoint("ct-nvfp4")[0])
    nested = {"architectures": ["X"], "text_config": {"quantization_config": block}}
    mlx = {"architectures": ["X"], "quantization": {"bits": 4, "group_size": 64}}
    assert q.kinds(q.write(tmp_path / "1", nested, tensors)) == {"stale-quant-config"}
    assert q.kinds(q.write(tmp_path / "2", mlx, tensors)) == {"stale-quant-config"}


def test_bad_a_second_file_was_left_behind(tmp_path):
    config, second, tensors = q.checkpoint("mo-nvfp4")
    del config["quantization_config"]
    whole(config, tensors)
    assert q.mine(q.write(tmp_path, config, tensors, second=second)) == {("stale-quant-config", "error", "hf_quant_config.json")}


def test_good_methods_whose_codes_are_floats_or_that_quantise_on_load(tmp_path):
    for number, block in enumerate(
        (
            {"quant_method": "higgs"},
            {"quant_method": "hqq"},
            {"quant_method": "fp8", "dequantize": True, "activation_scheme": "dynamic"},
            {},
        )
    ):
        config, _, tensors = q.checkpoint("tf-fp8-dense")
        whole(config, tensors)
        config["quantization_config"] = block
        assert not q.mine(q.write(tmp_path / str(number), config, tensors))


def test_good_blocks_that_are_not_about_weights(tmp_path):
    for number, more in enumerate(
        ({"sparsity_config": {"format": "dense"}}, {"kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": True}})
    ):
        config, _, tensors = q.checkpoint("ct-nvfp4")
        whole(config, tensors)
        config["quantization_config"] = {"quant_method": "compressed-tensors", "config_groups": {}, **more}
        assert not q.mine(q.write(tmp_path / str(number), config, tensors))
