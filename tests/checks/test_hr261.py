from __future__ import annotations

import quantised as q


def test_bad_a_scale_is_no_power_of_two(tmp_path):
    def change(config, tensors):
        q.block(config)["scale_fmt"] = "ue8m0"

    assert q.mine(q.saved(tmp_path, "tf-fp8-dense", change)) == {("scale-power-of-two", "warning", "model.safetensors")}


def test_good_powers_of_two_in_any_dtype(tmp_path):
    def change(config, tensors):
        q.block(config)["scale_fmt"] = "ue8m0"
        for name in [n for n in tensors if n.endswith("weight_scale_inv")]:
            tensors[name] = (*tensors[name][:2], q.scalar(2.0**-9) * (len(tensors[name][2]) // 4))

    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", change))
    assert not q.mine(q.saved(tmp_path / "2", "tf-fp8-ue8m0"))
