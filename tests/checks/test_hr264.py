from __future__ import annotations

import quantised as q

SCHEME = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False, "symmetric": True}


def promised(config, tensors):
    q.block(config)["kv_cache_scheme"] = dict(SCHEME)


def test_bad_no_layer_has_scales(tmp_path):
    assert q.mine(q.saved(tmp_path, "ct-kv", promised)) == {("kv-scale-missing", "warning", "config.json")}


def test_bad_one_layer_lacks_its_value_scale(tmp_path):
    def change(config, tensors):
        del tensors["model.layers.1.self_attn.v_proj.v_scale"]

    found = q.problems(q.saved(tmp_path, "mo-nvfp4-kv", change))
    assert [p.kind for p in found] == ["kv-scale-missing"]
    assert "1 of 2" in found[0].message


def test_good_scales_by_any_of_their_names(tmp_path):
    for number, (key, value) in enumerate(
        (("k_scale", "v_scale"), ("attn.k_scale", "attn.v_scale"), ("k_proj.output_scale", "v_proj.output_scale"))
    ):

        def change(config, tensors, key=key, value=value):
            promised(config, tensors)
            for layer in (0, 1):
                for leaf in (key, value):
                    tensors[f"model.layers.{layer}.self_attn.{leaf}"] = ("BF16", [1], q.scalar(1.0, "BF16"))

        config, _, tensors = q.checkpoint("ct-kv")
        change(config, tensors)
        assert not q.mine(q.write(tmp_path / str(number), config, tensors))
    assert not q.mine(q.saved(tmp_path / "m", "mo-nvfp4-kv"))


def test_good_a_dynamic_cache_needs_none(tmp_path):
    def change(config, tensors):
        promised(config, tensors)
        q.block(config)["kv_cache_scheme"]["dynamic"] = True

    assert not q.mine(q.saved(tmp_path, "ct-kv", change))
