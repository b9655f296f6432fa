from __future__ import annotations

import pytest
import quantised as q

CASES = [
    ("ct-nvfp4", "weight_packed"),
    ("ct-fp8_dynamic", "weight"),
    ("ct-w4a16", "weight_packed"),
    ("tf-fp8-dense", "weight"),
    ("mo-nvfp4", "weight"),
]


def whole(tensors, module, shape=(256, 128)):
    for name in [n for n in tensors if n.startswith(module + ".")]:
        del tensors[name]
    tensors[module + ".weight"] = ("BF16", list(shape), q.fill("x", "BF16", shape))


@pytest.mark.parametrize(("name", "leaf"), CASES)
def test_bad_a_declared_module_is_whole(tmp_path, name, leaf):
    def change(config, tensors):
        whole(tensors, "model.layers.1.mlp.down_proj", (128, 256))

    assert q.mine(q.saved(tmp_path, name, change)) == {("declared-but-unquantised", "error", "config.json")}


def test_bad_a_map_names_a_module_that_is_whole(tmp_path):
    def change(config, tensors):
        whole(tensors, "model.layers.1.mlp.down_proj", (128, 256))

    assert q.mine(q.saved(tmp_path, "mo-mixed", change)) == {("declared-but-unquantised", "error", "config.json")}


def test_bad_the_head_is_not_ignored(tmp_path):
    def change(config, tensors):
        q.block(config)["ignore"] = []

    assert q.mine(q.saved(tmp_path, "ct-nvfp4", change)) == {("declared-but-unquantised", "error", "config.json")}


def test_bad_a_tied_head_is_not_ignored(tmp_path):
    def change(config, tensors):
        q.block(config)["ignore"] = ["model.layers.9.x"]
        config["tie_word_embeddings"] = True
        del tensors["lm_head.weight"]

    assert q.mine(q.saved(tmp_path, "ct-nvfp4", change)) == {("declared-but-unquantised", "warning", "config.json")}


def test_bad_experts_that_the_tool_could_not_see(tmp_path):
    assert q.mine(q.saved(tmp_path, "ct-moe-nvfp4")) == {("declared-but-unquantised", "warning", "config.json")}


def test_good_routers_embeddings_and_partial_blocks_are_left_alone(tmp_path):
    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense"))
    assert q.kinds(q.saved(tmp_path / "2", "tf-fp8-narrow")) == {"fused-mixed-scheme"}  # 64 rows: transformers leaves them whole


def test_good_towers_that_no_list_names(tmp_path):
    def change(config, tensors):
        tensors["model.visual.blocks.0.attn.qkv.weight"] = ("BF16", [48, 16], bytes(2 * 48 * 16))
        tensors["mtp.norm.weight"] = ("BF16", [16], bytes(32))

    assert not q.mine(q.saved(tmp_path, "ct-nvfp4", change))


def test_bad_mtp_layers_that_no_list_names(tmp_path):
    def change(config, tensors):
        tensors["mtp.fc.weight"] = ("BF16", [16, 32], bytes(1024))
        tensors["mtp.layers.0.mlp.down_proj.weight"] = ("BF16", [16, 16], bytes(512))

    assert q.mine(q.saved(tmp_path, "ct-nvfp4", change)) == {("declared-but-unquantised", "warning", "config.json")}


def test_good_mtp_layers_that_a_pattern_names(tmp_path):
    def change(config, tensors):
        tensors["mtp.fc.weight"] = ("BF16", [16, 32], bytes(1024))
        q.block(config)["ignore"].append("re:^mtp.*")

    assert not q.mine(q.saved(tmp_path, "ct-nvfp4", change))


def test_good_a_list_may_name_the_fused_matrix(tmp_path):
    """Step-3.5-Flash lists qkv_proj, as vLLM calls it, and stores its parts."""

    def change(config, tensors):
        for layer in (0, 1):
            for leaf, rows in (("q_proj", 128), ("k_proj", 128), ("v_proj", 128)):
                whole(tensors, f"model.layers.{layer}.self_attn.{leaf}", (rows, 128))
        q.block(config)["modules_to_not_convert"] += [f"model.layers.{layer}.self_attn.qkv_proj" for layer in (0, 1)]

    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", change))


def test_good_a_class_that_names_cannot_tell(tmp_path):
    def change(config, tensors):
        q.block(config)["config_groups"]["group_0"]["targets"] = ["FusedMoE", "re:.*self_attn.*"]

    assert not q.mine(q.saved(tmp_path, "ct-nvfp4", change))
