from __future__ import annotations

import pytest
import quantised as q

CASES = [
    ("tf-fp8-dense", "weight_scale_inv", [1, 1]), ("tf-fp8-dense", "weight_scale_inv", [2, 1]), ("ct-fp8_block", "weight_scale", [1]), ("ct-nvfp4", "weight_scale", [128, 8]),
    ("ct-nvfp4", "weight_scale", [64, 16]), ("ct-nvfp4", "weight_global_scale", [2]), ("mo-nvfp4", "weight_scale", [128, 8]), ("mo-nvfp4", "weight_scale_2", [128]),
    ("ct-fp8_dynamic", "weight_scale", [256, 1]), ("ct-fp8_dynamic", "weight_scale", [1]), ("ct-fp8", "weight_scale", [128, 1]), ("ct-w4a16", "weight_scale", [128, 1]),
    ("ct-w4a16_asym", "weight_zero_point", [128, 2]), ("ct-w8a8", "weight_scale", [128, 2]), ("ct-mxfp4", "weight_scale", [128, 16]), ("ct-mxfp8", "weight_scale", [128, 4]),
    ("mo-fp8-pc-pt", "weight_scale", [256]), ("mo-fp8-pb-wo", "weight_scale", [2, 1, 1, 1]), ("mo-mxfp8", "weight_scale", [4, 256]), ("mo-int4-awq", "weight_scale", [64, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "leaf", "shape"), CASES)
def test_bad_the_shape_of_a_scale(tmp_path, name, leaf, shape):
    def change(config, tensors):
        tensor = f"model.layers.1.mlp.down_proj.{leaf}"  # logical shape [128, 256]
        dtype = tensors[tensor][0]
        tensors[tensor] = (dtype, shape, q.fill(tensor, dtype, shape))

    release = q.saved(tmp_path, name, change)
    assert ("scale-shape", "error", "model.safetensors") in q.mine(release)
    assert q.kinds(release) <= {"scale-shape", "asymmetric-int"}


def test_good_scalars_come_in_several_shapes(tmp_path):
    def change(config, tensors):
        for number, tensor in enumerate([n for n in tensors if n.endswith("_scale")]):
            tensors[tensor] = (tensors[tensor][0], [[], [1], [1, 1]][number % 3], tensors[tensor][2])

    assert not q.mine(q.saved(tmp_path, "ct-fp8", change))


def test_good_partial_blocks_round_up(tmp_path):
    def change(config, tensors):
        module = "model.layers.0.self_attn.kv_a_proj_with_mqa"  # DeepSeek-V3's has 576 rows
        tensors[module + ".weight"] = ("F8_E4M3", [192, 128], q.fill("w", "F8_E4M3", [192, 128]))
        tensors[module + ".weight_scale_inv"] = ("F32", [2, 1], q.fill("s", "F32", [2, 1]))

    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", change))
