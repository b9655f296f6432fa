from __future__ import annotations

import pytest
import quantised as q


def unquantise(tensors, module, shape):
    for name in [n for n in tensors if n.startswith(module + ".")]:
        del tensors[name]
    tensors[module + ".weight"] = ("BF16", shape, q.fill("x", "BF16", shape))


@pytest.mark.parametrize(("name", "leaf", "shape"), [
    ("ct-nvfp4", "self_attn.k_proj", [64, 128]), ("ct-fp8_dynamic", "mlp.up_proj", [256, 128]), ("mo-nvfp4", "self_attn.v_proj", [64, 128]),
    ("tf-fp8-dense", "mlp.gate_proj", [256, 128]),
])  # fmt: skip
def test_bad_one_projection_is_whole(tmp_path, name, leaf, shape):
    module = f"model.layers.1.{leaf}"

    def change(config, tensors, second):
        unquantise(tensors, module, shape)
        block = q.block(config)
        block["ignore" if "ignore" in block else "modules_to_not_convert"].append(module)
        if second:
            second["quantization"]["exclude_modules"].append(module)

    assert q.mine(q.saved(tmp_path, name, change)) == {("fused-mixed-scheme", "warning", "config.json")}


def test_bad_two_formats_in_one_set(tmp_path):
    def change(config, tensors):
        groups = q.block(config)["config_groups"]
        groups["group_0"]["targets"] = ["re:.*[qk]_proj", "re:.*o_proj"]
        groups["group_1"]["targets"] = ["re:.*mlp.*", "re:.*v_proj"]
        for layer in (0, 1):
            source, target = f"model.layers.{layer}.mlp.gate_proj", f"model.layers.{layer}.self_attn.v_proj"
            for name in [n for n in tensors if n.startswith(target + ".")]:
                del tensors[name]
            for name in [n for n in tensors if n.startswith(source + ".")]:
                tensors[name.replace(source, target)] = tensors[name]

    assert q.kinds(q.saved(tmp_path, "ct-mixed", change)) == {"fused-mixed-scheme"}


def test_good_sets_that_agree(tmp_path):
    assert not q.mine(q.saved(tmp_path, "ct-mixed"))
    assert not q.mine(q.saved(tmp_path / "2", "mo-mixed"))
