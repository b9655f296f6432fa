from __future__ import annotations

import quantised as q


def sharded(tmp_path, more=(), change=None):
    config, second, tensors = q.checkpoint("mo-moe-nvfp4")
    if change:
        change(tensors)
    inputs = [n for n in tensors if n.endswith(".input_scale") or n in more]
    shards = {"model-00001-of-00001.safetensors": [n for n in tensors if n not in inputs], "input_scales.safetensors": inputs}
    return q.write(tmp_path, config, tensors, second=second, shards=shards)


def test_bad_something_else_lies_in_the_file(tmp_path):
    release = sharded(tmp_path, ["model.norm.weight"])
    assert q.mine(release) == {("activation-scale-file", "warning", "input_scales.safetensors")}


def test_bad_a_scale_of_no_module(tmp_path):
    def change(tensors):
        tensors["model.layers.7.mlp.down_proj.input_scale"] = ("F32", [], q.scalar(0.1))

    assert ("activation-scale-file", "warning", "input_scales.safetensors") in q.mine(sharded(tmp_path, change=change))


def test_good_one_scale_for_each_weight(tmp_path):
    assert not q.mine(sharded(tmp_path))
