from __future__ import annotations

import quantised as q


def test_bad_one_expert_is_whole(tmp_path):
    def change(config, tensors):
        module = "model.layers.1.mlp.experts.1.down_proj"
        for name in [n for n in tensors if n.startswith(module + ".")]:
            del tensors[name]
        tensors[module + ".weight"] = ("BF16", [128, 128], q.fill("x", "BF16", [128, 128]))

    found = q.mine(q.saved(tmp_path, "mo-moe-nvfp4", change))
    assert found == {("expert-mixed-scheme", "error", "config.json"), ("declared-but-unquantised", "error", "config.json")}


def test_bad_two_algorithms_in_one_layer(tmp_path):
    config, _, tensors = q.checkpoint("mo-moe-nvfp4")
    fp8 = q.checkpoint("mo-moe-fp8")[2]
    module = "model.layers.1.mlp.experts.1.down_proj"
    for name in [n for n in tensors if n.startswith(module + ".")]:
        del tensors[name]
    tensors |= {n: t for n, t in fp8.items() if n.startswith(module + ".")}
    names = {n.rpartition(".")[0] for n in tensors if n.endswith(".weight_scale")}
    layers = {n: {"quant_algo": "FP8"} if n == module else {"quant_algo": "NVFP4", "group_size": 16} for n in names}
    config["quantization_config"] = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers, "ignore": []}
    assert q.mine(q.write(tmp_path, config, tensors)) == {("expert-mixed-scheme", "error", "config.json")}


def test_good_experts_that_agree(tmp_path):
    for number, name in enumerate(("mo-moe-nvfp4", "mo-moe-fp8", "tf-fp8-moe")):
        assert not q.mine(q.saved(tmp_path / str(number), name))
