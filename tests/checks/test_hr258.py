from __future__ import annotations

import struct

import pytest
import quantised as q

NAN, INF = struct.pack("<f", float("nan")), struct.pack("<f", float("inf"))
CASES = [
    ("ct-fp8_dynamic", "weight_scale", NAN[2:]), ("ct-fp8_dynamic", "weight_scale", INF[2:]), ("ct-nvfp4", "weight_scale", b"\x7f"), ("ct-nvfp4", "weight_scale", b"\xff"),
    ("ct-nvfp4", "weight_global_scale", NAN), ("mo-nvfp4", "weight_scale_2", INF), ("mo-nvfp4", "input_scale", NAN), ("tf-fp8-dense", "weight_scale_inv", NAN),
    ("tf-fp8-ue8m0", "weight_scale_inv", b"\xff"), ("ct-mxfp4", "weight_scale", b"\xff"), ("ct-w4a16", "weight_scale", NAN[2:]), ("tf-bnb-int8", "SCB", INF),
    ("mo-nvfp4-kv", "k_scale", NAN),
]  # fmt: skip


@pytest.mark.parametrize(("name", "leaf", "value"), CASES)
@pytest.mark.parametrize("at", [0, -1])
def test_bad_a_value_is_not_finite(tmp_path, name, leaf, value, at):
    def change(config, tensors):
        tensor = [n for n in tensors if n.endswith("." + leaf)][-1]
        dtype, shape, data = tensors[tensor]
        data = value + data[len(value) :] if at == 0 else data[: -len(value)] + value
        tensors[tensor] = (dtype, shape, data)

    found = q.problems(q.saved(tmp_path, name, change))
    assert [(p.kind, p.severity) for p in found] == [("non-finite-scale", "error")]
    assert found[0].where.tensor.endswith(leaf)
    assert found[0].message.startswith("1 of ")


def test_bad_codes_of_weights_only_with_deep(tmp_path):
    def change(config, tensors):
        dtype, shape, data = tensors["model.layers.1.mlp.down_proj.weight"]
        tensors["model.layers.1.mlp.down_proj.weight"] = (dtype, shape, b"\x7e\x7f" + data[2:])

    assert not q.kinds(q.saved(tmp_path, "tf-fp8-dense", change))
    assert q.kinds(q.saved(tmp_path / "2", "tf-fp8-dense", change, deep=True)) == {"non-finite-scale"}


def test_good_values_of_every_size(tmp_path):
    def change(config, tensors):
        for name in [n for n in tensors if n.endswith("weight_scale")]:
            dtype, shape, data = tensors[name]
            tensors[name] = (dtype, shape, struct.pack("<H", 0x0001) * (len(data) // 2))  # subnormal
        tensors["model.layers.0.position_ids"] = ("I64", [1, 4], bytes(range(0x60, 0x80)))

    assert not q.mine(q.saved(tmp_path, "ct-fp8_dynamic", change))


def test_bad_exponents_of_stacked_experts(tmp_path):
    config, tensors = q.mxfp4()
    name = "model.layers.0.mlp.experts.down_proj_scales"
    tensors[name] = (*tensors[name][:2], b"\xff" + tensors[name][2][1:])
    assert q.mine(q.write(tmp_path, config, tensors)) == {("non-finite-scale", "error", "model.safetensors")}
