from __future__ import annotations

import quantised as q


def test_bad_a_misspelt_entry(tmp_path):
    def change(config, tensors):
        q.block(config)["modules_to_not_convert"] += ["model.layers.1.mlp.dwn_proj"]

    found = q.problems(q.saved(tmp_path, "tf-fp8-dense", change))
    assert [(p.kind, p.severity, p.where.pointer) for p in found] == [
        ("exclusion-unmatched", "warning", "/quantization_config/modules_to_not_convert/1")
    ]


def test_bad_a_target_that_matches_nothing(tmp_path):
    def change(config, tensors):
        q.block(config)["config_groups"]["group_0"]["targets"] = ["Linear", "re:.*no_such_module.*"]

    assert q.mine(q.saved(tmp_path, "ct-nvfp4", change)) == {("exclusion-unmatched", "warning", "config.json")}


def test_good_entries_of_parts_that_are_not_here(tmp_path):
    def change(config, tensors):
        q.block(config)["modules_to_not_convert"] += [
            "model.visual.blocks.0.attn.qkv", "mtp.fc", "model.layers.61.eh_proj", "model.layers.1.self_attn.q_norm", "model.layers.*.mlp.router",
            "model.layers.1.input_layernorm", "model.embed_tokens", "model.layers.0.mlp.gate.e_score_correction_bias",
        ]  # fmt: skip

    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", change))
