from __future__ import annotations

import struct

import pytest
import quantised as q


@pytest.mark.parametrize("shape", [(128, 128), (256, 256), (0, 256), (-1, 256), (128, 2**40)])
def test_bad_another_shape(tmp_path, shape):
    def change(config, tensors):
        tensors["model.layers.1.mlp.down_proj.weight_shape"] = ("I64", [2], struct.pack("<2q", *shape))

    assert q.mine(q.saved(tmp_path, "ct-w4a16", change)) == {("weight-shape", "error", "model.safetensors")}


def test_good_a_width_that_fills_no_whole_word(tmp_path):
    def change(config, tensors):
        q.block(config)["config_groups"]["group_0"]["weights"] |= {"strategy": "channel", "group_size": None}
        for name in [n for n in tensors if n.endswith("weight_scale")]:
            shape = [tensors[name][1][0], 1]
            tensors[name] = ("BF16", shape, q.fill(name, "BF16", shape))
        for name in [n for n in tensors if n.endswith("weight_shape")]:
            rows, columns = struct.unpack("<2q", tensors[name][2])
            tensors[name] = ("I64", [2], struct.pack("<2q", rows, columns - 5))

    assert not q.mine(q.saved(tmp_path, "ct-w4a16", change))
