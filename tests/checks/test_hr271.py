from __future__ import annotations

import pytest
import quantised as q


def inner(key, value):
    def change(config, tensors, second):
        second["quantization"][key] = value

    return change


CASES = [
    ("quant_algo", "FP8", "error"),
    ("group_size", 32, "error"),
    ("exclude_modules", ["lm_head"], "warning"),
    ("kv_cache_quant_algo", "FP8", "warning"),
]


@pytest.mark.parametrize(("key", "value", "severity"), CASES)
def test_bad_the_files_disagree(tmp_path, key, value, severity):
    assert q.mine(q.saved(tmp_path, "mo-nvfp4", inner(key, value))) == {("quant-config-conflict", severity, "hf_quant_config.json")}


def test_bad_the_maps_disagree(tmp_path):
    def change(config, tensors, second):
        second["quantization"]["quantized_layers"]["model.layers.1.mlp.down_proj"] = {"quant_algo": "FP8"}

    assert q.mine(q.saved(tmp_path, "mo-mixed", change)) == {("quant-config-conflict", "error", "hf_quant_config.json")}


def test_bad_a_second_file_of_another_method(tmp_path):
    second = q.checkpoint("mo-nvfp4")[1]
    config, _, tensors = q.checkpoint("ct-nvfp4")
    assert q.mine(q.write(tmp_path, config, tensors, second=second)) == {("quant-config-conflict", "error", "hf_quant_config.json")}


def test_good_spelling_and_order_do_not_matter(tmp_path):
    def change(config, tensors, second):
        second["quantization"]["quant_algo"] = "nvfp4"
        second["quantization"]["exclude_modules"].reverse()

    assert not q.mine(q.saved(tmp_path, "mo-nvfp4", change))


def test_good_the_second_file_alone(tmp_path):
    for number, name in enumerate(("mo-nvfp4", "mo-fp8", "mo-mixed", "mo-w4a16-nvfp4")):
        config, second, tensors = q.checkpoint(name)
        del config["quantization_config"]
        assert not q.mine(q.write(tmp_path / str(number), config, tensors, second=second))
