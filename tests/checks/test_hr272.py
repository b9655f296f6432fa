from __future__ import annotations

import quantised as q


def test_bad_the_map_names_a_layer_that_is_not_there(tmp_path):
    def change(config, tensors, second):
        for layers in (q.block(config)["quantized_layers"], second["quantization"]["quantized_layers"]):
            layers["model.layers.1.mlp.no_proj"] = {"quant_algo": "FP8"}

    assert q.mine(q.saved(tmp_path, "mo-mixed", change)) == {("quantized-layers", "error", "config.json")}


def test_bad_the_map_is_empty(tmp_path):
    config, second, tensors = q.checkpoint("mo-mixed")
    del config["quantization_config"]
    second["quantization"]["quantized_layers"] = {}
    assert "quantized-layers" in q.kinds(q.write(tmp_path, config, tensors, second=second))


def test_bad_a_layer_without_algorithm(tmp_path):
    for number, value in enumerate(({}, None, [], {"quant_algo": 3})):
        config, second, tensors = q.checkpoint("mo-mixed")
        for layers in (q.block(config)["quantized_layers"], second["quantization"]["quantized_layers"]):
            layers["model.layers.1.mlp.down_proj"] = value
        assert "quantized-layers" in q.kinds(q.write(tmp_path / str(number), config, tensors, second=second))


def test_good_the_map_of_the_exporter(tmp_path):
    assert not q.mine(q.saved(tmp_path, "mo-mixed"))


def test_good_a_key_that_names_all_experts_of_a_layer(tmp_path):
    config, _, tensors = q.checkpoint("mo-moe-nvfp4")
    names = sorted({n.rpartition(".")[0] for n in tensors if n.endswith("weight_scale_2")})
    layers = {n: {"quant_algo": "NVFP4", "group_size": 16} for n in names if ".experts." not in n} | {
        "model.layers.1.mlp.experts": {"quant_algo": "NVFP4"}
    }
    block = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers, "ignore": []}
    config["quantization_config"] = block
    assert not q.mine(q.write(tmp_path, config, tensors))
