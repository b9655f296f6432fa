from __future__ import annotations

import quantised as q


def test_bad_a_scale_beside_a_whole_weight(tmp_path):
    def change(config, tensors):
        tensors["lm_head.weight_scale"] = ("BF16", [160, 1], q.fill("s", "BF16", [160, 1]))

    assert q.mine(q.saved(tmp_path, "ct-fp8_dynamic", change)) == {("orphan-scale", "error", "model.safetensors")}


def test_bad_a_scale_that_the_format_does_not_have(tmp_path):
    def change(config, tensors):
        tensors["model.layers.1.mlp.down_proj.weight_scale_2"] = ("F32", [], q.scalar(0.1))

    assert q.mine(q.saved(tmp_path, "ct-nvfp4", change)) == {("orphan-scale", "warning", "model.safetensors")}


def test_bad_a_zero_point_of_symmetric_weights(tmp_path):
    def change(config, tensors):
        tensors["model.layers.1.mlp.down_proj.weight_zero_point"] = ("I32", [16, 2], bytes(128))

    assert q.kinds(q.saved(tmp_path, "ct-w4a16", change)) == {"orphan-scale"}


def test_good_scales_of_keys_values_and_norms(tmp_path):
    def change(config, tensors):
        for leaf in ("self_attn.k_scale", "self_attn.v_scale", "q_norm.scale"):
            tensors[f"model.layers.1.{leaf}"] = ("BF16", [1], q.scalar(1.0, "BF16"))

    assert not q.mine(q.saved(tmp_path, "ct-fp8_dynamic", change))
