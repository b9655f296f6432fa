from __future__ import annotations

import quantised as q


def test_bad_the_key_is_absent(tmp_path):
    def change(config, tensors):
        del q.block(config)["activation_scheme"]

    assert q.mine(q.saved(tmp_path, "tf-fp8-dense", change)) == {("activation-scheme", "warning", "config.json")}


def test_bad_static_with_blocks(tmp_path):
    def change(config, tensors):
        q.block(config)["activation_scheme"] = "static"

    found = q.mine(q.saved(tmp_path, "tf-fp8-dense", change))
    assert ("activation-scheme", "error", "config.json") in found


def test_bad_a_word_that_nobody_knows(tmp_path):
    for number, value in enumerate(("Dynamic", None, 7, ["dynamic"], {"a": 1})):

        def change(config, tensors, value=value):
            q.block(config)["activation_scheme"] = value

        config, _, tensors = q.checkpoint("tf-fp8-dense")
        change(config, tensors)
        assert ("activation-scheme", "error", "config.json") in q.mine(q.write(tmp_path / str(number), config, tensors))


def test_bad_input_scales_that_nobody_reads(tmp_path):
    def change(config, tensors):
        tensors["model.layers.1.mlp.down_proj.input_scale"] = ("F32", [], q.scalar(0.1))

    assert q.mine(q.saved(tmp_path, "tf-fp8-dense", change)) == {("activation-scheme", "warning", "model.safetensors")}


def test_good_static_with_one_scale_a_tensor(tmp_path):
    def change(config, tensors):
        q.block(config)["activation_scheme"] = "static"
        for name in [n for n in tensors if n.endswith("weight_scale_inv")]:
            tensors[name.replace("weight_scale_inv", "input_scale")] = ("F32", [1], q.scalar(0.1))

    assert not q.mine(q.saved(tmp_path, "tf-fp8-tensor", change))
