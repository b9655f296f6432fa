from __future__ import annotations

import quantised as q


def test_bad_the_end_of_a_name(tmp_path):
    def change(config, tensors):
        q.block(config)["modules_to_not_convert"] += ["wn_proj"]

    assert q.mine(q.saved(tmp_path, "tf-fp8-dense", change)) == {("exclusion-by-accident", "warning", "config.json")}


def test_bad_a_part_of_a_name(tmp_path):
    def change(config, tensors, second):
        tensors["model.layers.1.mlp.gate.weight"] = ("BF16", [2, 128], bytes(512))
        q.block(config)["ignore"] += ["model.layers.1.mlp.gate"]
        second["quantization"]["exclude_modules"] += ["model.layers.1.mlp.gate"]

    found = q.problems(q.saved(tmp_path, "mo-nvfp4", change))
    assert [(p.kind, p.severity, p.where.tensor) for p in found] == [("exclusion-by-accident", "warning", "model.layers.1.mlp.gate_proj")]


def test_good_the_router_beside_experts(tmp_path):
    assert not q.mine(q.saved(tmp_path, "mo-moe-nvfp4"))
    assert not q.mine(q.saved(tmp_path / "2", "tf-fp8-moe"))
