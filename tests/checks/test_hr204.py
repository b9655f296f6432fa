from __future__ import annotations

import pytest
import quantised as q

CASES = [
    ("ct-nvfp4", "weight_packed", "I8"), ("ct-nvfp4", "weight_scale", "BF16"), ("ct-fp8_dynamic", "weight", "F8_E5M2"), ("ct-w4a16", "weight_packed", "U32"),
    ("ct-w8a8", "weight", "U8"), ("ct-mxfp4", "weight_scale", "BF16"), ("mo-nvfp4", "weight", "I8"), ("mo-nvfp4", "weight_scale", "F32"),
    ("mo-fp8", "weight", "I8"), ("mo-mxfp8", "weight_scale", "F32"), ("tf-fp8-dense", "weight", "I8"), ("tf-fp8-dense", "weight_scale_inv", "U8"),
    ("tf-bnb-int8", "weight", "U8"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "leaf", "dtype"), CASES)
def test_bad_a_tensor_has_another_dtype(tmp_path, name, leaf, dtype):
    def change(config, tensors):
        tensor = [n for n in tensors if n.endswith("mlp.down_proj." + leaf)][-1]
        shape = tensors[tensor][1]
        tensors[tensor] = (dtype, shape, q.fill("x", dtype, shape))

    kinds = q.kinds(q.saved(tmp_path, name, change))
    assert "tensor-dtype" in kinds
    assert kinds <= {"tensor-dtype", "fused-mixed-scheme"}


def test_good_dtypes_that_readers_take(tmp_path):
    def change(config, tensors):
        for name in [n for n in tensors if n.endswith("weight_scale_inv")]:
            shape = tensors[name][1]
            tensors[name] = ("BF16", shape, q.fill(name, "BF16", shape))  # as Qwen3's FP8 releases have them

    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", change))
    assert not q.mine(q.saved(tmp_path / "2", "tf-fp8-ue8m0"))
