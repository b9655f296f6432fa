from __future__ import annotations

import pytest
import quantised as q


def listed(entry):
    def change(config, tensors):
        block = q.block(config)
        key = "modules_to_not_convert" if block["quant_method"] == "fp8" else "ignore"
        block[key] = [*(block[key] or ()), entry]

    return change


CASES = [
    ("ct-nvfp4", "model.layers.1.self_attn.o_proj"), ("ct-fp8_dynamic", "re:.*layers\\.1\\.mlp.*"), ("ct-w4a16", "re:model.layers.0.*o_proj"),
    ("tf-fp8-dense", "model.layers.1.mlp.down_proj"), ("tf-fp8-dense", "model.layers.1.self_attn"), ("tf-fp8-dense", "model\\.layers\\.[01]\\.mlp\\.down_proj"),
    ("mo-nvfp4", "model.layers.1.self_attn.o_proj"), ("mo-nvfp4", "model.layers.1*"), ("mo-fp8", "*.mlp.down_proj"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "entry"), CASES)
def test_bad_an_excluded_module_is_quantised(tmp_path, name, entry):
    def change(config, tensors, second):
        listed(entry)(config, tensors)
        if second:
            second["quantization"]["exclude_modules"].append(entry)

    found = q.problems(q.saved(tmp_path, name, change))
    assert {(p.kind, p.severity, p.where.file) for p in found} == {("ignored-but-quantised", "error", "config.json")}
    assert entry in found[0].message.encode().decode("unicode_escape") or repr(entry) in found[0].message


def test_bad_a_layer_that_the_map_does_not_name(tmp_path):
    def change(config, tensors, second):
        for layers in (q.block(config)["quantized_layers"], second["quantization"]["quantized_layers"]):
            del layers["model.layers.1.mlp.down_proj"]

    assert q.kinds(q.saved(tmp_path, "mo-mixed", change)) == {"ignored-but-quantised"}


def test_bad_no_target_names_it(tmp_path):
    def change(config, tensors):
        q.block(config)["config_groups"]["group_0"]["targets"] = ["re:.*mlp.*"]

    assert q.kinds(q.saved(tmp_path, "ct-nvfp4", change)) == {"ignored-but-quantised"}


def test_bad_awq_module_of_its_own_list(tmp_path):
    config, tensors = q.packed_integers("awq", modules_to_not_convert=["model.layers.1"])
    assert q.kinds(q.write(tmp_path, config, tensors)) == {"ignored-but-quantised"}


def test_good_excluded_modules_are_whole(tmp_path):
    assert not q.mine(q.saved(tmp_path, "ct-qwen3_5-nvfp4a16"))


def test_good_another_spelling_of_a_path_is_no_proof(tmp_path):
    assert not q.mine(q.saved(tmp_path, "ct-nvfp4", listed("model.visual.layers.1.mlp.down_proj")))
