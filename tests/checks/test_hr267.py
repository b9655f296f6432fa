from __future__ import annotations

import quantised as q


def narrow(tensors, columns):
    module = "model.layers.1.mlp.down_proj"
    tensors[module + ".weight_packed"] = ("U8", [128, columns // 2], bytes(128 * columns // 2))
    tensors[module + ".weight_scale"] = ("F8_E4M3", [128, -(-columns // 16)], bytes([0x70]) * 128 * -(-columns // 16))


def test_bad_a_width_that_groups_do_not_divide(tmp_path):
    found = q.mine(q.saved(tmp_path, "ct-nvfp4", lambda config, tensors: narrow(tensors, 248)))
    assert found == {("group-size", "error", "model.safetensors")}


def test_bad_integers_are_a_warning(tmp_path):
    def change(config, tensors):
        weights = q.block(config)["config_groups"]["group_0"]["weights"]
        weights["group_size"] = 96
        for name in [n for n in tensors if n.endswith("weight_scale")]:
            columns = -(-tensors[name.replace("weight_scale", "weight_packed")][1][1] * 8 // 96)
            shape = [tensors[name][1][0], columns]
            tensors[name] = ("BF16", shape, q.fill(name, "BF16", shape))

    assert q.mine(q.saved(tmp_path, "ct-w4a16", change)) == {("group-size", "warning", "model.safetensors")}


def test_good_a_width_of_whole_groups(tmp_path):
    assert not q.mine(q.saved(tmp_path, "ct-nvfp4", lambda config, tensors: narrow(tensors, 240)))
