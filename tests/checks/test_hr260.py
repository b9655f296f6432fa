from __future__ import annotations

import struct

import pytest
import quantised as q

CASES = [
    ("ct-nvfp4", "weight_global_scale", 0.75 / 2688), ("mo-nvfp4", "weight_scale_2", 2688 / 0.75), ("ct-fp8_dynamic", "weight_scale", 448 / 0.5),
    ("tf-fp8-dense", "weight_scale_inv", 448 / 0.5), ("mo-fp8", "weight_scale", 448 / 0.5), ("ct-w8a8", "weight_scale", 127 / 0.5), ("ct-w4a16", "weight_scale", 7.5 / 0.001),
]  # fmt: skip


@pytest.mark.parametrize(("name", "leaf", "value"), CASES)
@pytest.mark.parametrize("every", [True, False])
def test_bad_the_reciprocal_is_stored(tmp_path, name, leaf, value, every):
    def change(config, tensors):
        for tensor in [n for n in tensors if n.endswith("." + leaf) and (every or "1.mlp.down_proj" in n)]:
            dtype, shape, data = tensors[tensor]
            packed = struct.pack("<f", value)[2 if dtype == "BF16" else 0 :]
            tensors[tensor] = (dtype, shape, packed * (len(data) // len(packed)))

    assert q.mine(q.saved(tmp_path, name, change)) == {("scale-convention", "error", "model.safetensors")}


@pytest.mark.parametrize(("name", "leaf", "value"), [("ct-nvfp4", "input_global_scale", 0.0078), ("mo-nvfp4", "input_scale", 128.0)])
def test_bad_all_input_scales_are_reciprocal(tmp_path, name, leaf, value):
    def change(config, tensors):
        for tensor in [n for n in tensors if n.endswith("." + leaf)]:
            tensors[tensor] = (*tensors[tensor][:2], q.scalar(value))

    assert q.mine(q.saved(tmp_path, name, change)) == {("scale-convention", "error", "model.safetensors")}


def test_good_weights_of_unusual_size(tmp_path):
    def change(config, tensors):
        for number, tensor in enumerate(n for n in tensors if n.endswith(".weight_global_scale")):
            tensors[tensor] = (*tensors[tensor][:2], q.scalar([2688 / 1000, 2688 / 0.0001][number // 7 % 2]))

    assert q.kinds(q.saved(tmp_path, "ct-nvfp4", change)) <= {"fused-scales-differ"}
