from __future__ import annotations

import quantised as q


def codes(tensors, byte):
    for name in [n for n in tensors if n.endswith("_proj.weight")]:
        dtype, shape, data = tensors[name]
        tensors[name] = (dtype, shape, bytes([byte]) * len(data))


def test_bad_no_block_reaches_the_top(tmp_path):
    release = q.saved(tmp_path, "tf-fp8-dense", lambda config, tensors: codes(tensors, 0x68), deep=True)
    assert q.mine(release) == {("block-range", "warning", "model.safetensors")}


def test_good_every_block_does_or_is_zero(tmp_path):
    for number, byte in enumerate((0x7E, 0xFE, 0x00)):
        config, _, tensors = q.checkpoint("tf-fp8-dense")
        codes(tensors, byte)
        assert not q.mine(q.write(tmp_path / str(number), config, tensors, deep=True))


def test_good_not_without_deep(tmp_path):
    assert not q.mine(q.saved(tmp_path, "tf-fp8-dense", lambda config, tensors: codes(tensors, 0x68)))
