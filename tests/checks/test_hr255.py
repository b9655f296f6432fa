from __future__ import annotations

import pytest
import quantised as q

CASES = [
    ("tf-fp8-dense", "weight_scale_inv", "weight_scale"), ("ct-fp8_block", "weight_scale", "weight_scale_inv"), ("mo-fp8-pb-wo", "weight_scale", "weight_scale_inv"),
    ("ct-nvfp4", "weight_global_scale", "weight_scale_2"), ("mo-nvfp4", "weight_scale_2", "weight_global_scale"), ("ct-nvfp4", "input_global_scale", "input_scale"),
    ("mo-nvfp4", "input_scale", "input_global_scale"), ("mo-fp8", "input_scale", "activation_scale"), ("ct-nvfp4", "weight_packed", "weight"),
    ("mo-nvfp4", "weight", "weight_packed"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new"), CASES)
@pytest.mark.parametrize("every", [True, False])
def test_bad_the_name_of_another_format(tmp_path, name, old, new, every):
    def change(config, tensors):
        names = [n for n in tensors if n.endswith("_proj." + old) and (every or "layers.1.mlp.down_proj" in n)]
        for tensor in names:
            tensors[tensor.removesuffix(old) + new] = tensors.pop(tensor)

    assert q.mine(q.saved(tmp_path, name, change)) == {("scale-name", "error", "model.safetensors")} or (old, every) == (
        "input_scale",
        True,
    )


def test_good_names_that_readers_rename(tmp_path):
    def change(config, tensors):
        for tensor in [n for n in tensors if n.endswith("weight_scale_inv")]:
            tensors[tensor.replace("weight_scale_inv", "scale")] = tensors.pop(tensor)  # DeepSeek-V4

    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", change))
