from __future__ import annotations

import quantised as q


def partial(config, tensors):
    module = "model.layers.0.self_attn.kv_a_proj_with_mqa"
    tensors[module + ".weight"] = ("F8_E4M3", [192, 128], q.fill("w", "F8_E4M3", [192, 128]))
    tensors[module + ".weight_scale_inv"] = ("F32", [2, 1], q.fill("s", "F32", [2, 1]))


def test_bad_where_our_own_format_is_stated(tmp_path):
    release = q.saved(tmp_path, "tf-fp8-dense", partial, spec={"weights": {"format": "fp8_block"}})
    assert q.mine(release) == {("partial-block", "warning", "model.safetensors")}


def test_good_published_releases_have_them(tmp_path):
    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", partial))
    assert not q.mine(q.saved(tmp_path / "2", "tf-fp8-dense", spec={"weights": {"format": "fp8_block"}}))
