from __future__ import annotations

import pytest
import quantised as q


@pytest.mark.parametrize(("name", "leaf", "value"), [
    ("ct-nvfp4", "self_attn.k_proj.weight_global_scale", 3000.0), ("mo-nvfp4", "mlp.up_proj.weight_scale_2", 3e-4),
    ("mo-moe-nvfp4", "mlp.experts.1.gate_proj.weight_scale_2", 3e-4),
])  # fmt: skip
def test_bad_one_global_scale_differs(tmp_path, name, leaf, value):
    def change(config, tensors):
        tensor = f"model.layers.1.{leaf}"
        tensors[tensor] = (*tensors[tensor][:2], q.scalar(value))

    assert q.mine(q.saved(tmp_path, name, change)) == {("fused-scales-differ", "warning", "model.safetensors")}


def test_good_other_modules_have_scales_of_their_own(tmp_path):
    def change(config, tensors):
        for leaf in ("self_attn.o_proj", "mlp.down_proj"):
            tensor = f"model.layers.1.{leaf}.weight_scale_2"
            tensors[tensor] = (*tensors[tensor][:2], q.scalar(3e-4))

    assert not q.mine(q.saved(tmp_path, "mo-nvfp4", change))
