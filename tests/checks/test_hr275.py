from __future__ import annotations

import pytest
import quantised as q

CASES = [
    ("tf-fp8-dense", "nvfp4"),
    ("ct-nvfp4", "nvfp4a16"),
    ("ct-nvfp4a16", "nvfp4"),
    ("ct-fp8_dynamic", "fp8_block"),
    ("mo-nvfp4", "nvfp4"),
    ("ct-w4a16", "w8a16"),
    ("ct-nvfp4", "bf16"),
    ("tf-bnb-nf4", "fp8_block"),
]
GOOD = [
    ("tf-fp8-dense", "fp8_block"), ("ct-fp8_block", "fp8_block"), ("ct-fp8_dynamic", "fp8_dynamic"), ("ct-nvfp4a16", "nvfp4a16"), ("ct-nvfp4", "nvfp4"),
    ("mo-nvfp4", "modelopt_nvfp4"), ("ct-w8a16", "w8a16"), ("ct-w4a16", "w4a16"), ("tf-bnb-nf4", "as-is"), ("ct-nvfp4", 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "claim"), CASES)
def test_bad_another_format(tmp_path, name, claim):
    assert q.mine(q.saved(tmp_path, name, spec={"weights": {"format": claim}})) == {("format-claim", "error", "model.safetensors")}


@pytest.mark.parametrize(("name", "claim"), GOOD)
def test_good_the_stated_format(tmp_path, name, claim):
    assert q.kinds(q.saved(tmp_path, name, spec={"weights": {"format": claim}})) <= {"partial-block"}


def plain(root, **tensors):
    held = {f"{name}.weight": (dtype, [rows, 4], bytes(rows * 4 * q.SIZE[dtype])) for name, (dtype, rows) in tensors.items()}
    return q.mine(q.write(root, {"model_type": "llama"}, held, spec={"weights": {"format": "bf16"}}))


@pytest.mark.parametrize("dtype", ["F32", "F16", "F64"])
def test_bad_bf16_is_stated_and_another_dtype_is_there(tmp_path, dtype):
    assert plain(tmp_path, a=(dtype, 8), b=("BF16", 4)) == {("format-claim", "error", "model.safetensors")}


def test_good_a_bf16_checkpoint_may_keep_its_norms_in_f32(tmp_path):
    assert not plain(tmp_path, a=("BF16", 8), norm=("F32", 4))


def test_good_whole_weights(tmp_path):
    release = q.Release(q.tiny.release(tmp_path), q.verify_release.check_folder(tmp_path))
    assert not q.mine(release)
