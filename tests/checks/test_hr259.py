from __future__ import annotations

import struct

import pytest
import quantised as q

CASES = [
    ("ct-fp8_dynamic", "weight_scale", struct.pack("<f", -0.01)[2:]), ("tf-fp8-dense", "weight_scale_inv", struct.pack("<f", -0.01)),
    ("ct-nvfp4", "weight_global_scale", struct.pack("<f", 0.0)), ("mo-nvfp4", "input_scale", struct.pack("<f", 0.0)),
    ("mo-nvfp4", "weight_scale_2", struct.pack("<f", -1.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "leaf", "value"), CASES)
def test_bad_negative_or_zero(tmp_path, name, leaf, value):
    def change(config, tensors):
        tensor = f"model.layers.1.mlp.down_proj.{leaf}"
        dtype, shape, data = tensors[tensor]
        tensors[tensor] = (dtype, shape, value + data[len(value) :])

    assert q.mine(q.saved(tmp_path, name, change)) == {("scale-not-positive", "error", "model.safetensors")}


def test_good_integers_may_have_negative_scales(tmp_path):
    def change(config, tensors):
        for name in [n for n in tensors if n.endswith("weight_scale")]:
            dtype, shape, data = tensors[name]
            tensors[name] = (dtype, shape, struct.pack("<f", -0.01)[2:] * (len(data) // 2))

    assert not q.mine(q.saved(tmp_path, "ct-w4a16", change))


def test_good_a_zero_block(tmp_path):
    def change(config, tensors):
        dtype, shape, data = tensors["model.layers.1.mlp.down_proj.weight_scale_inv"]
        tensors["model.layers.1.mlp.down_proj.weight_scale_inv"] = (dtype, shape, bytes(4) + data[4:])

    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", change))
