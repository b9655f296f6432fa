from __future__ import annotations

import pytest
import quantised as q


@pytest.mark.parametrize("name", ["ct-nvfp4", "ct-w4a16", "tf-fp8-dense", "mo-fp8", "tf-bnb-nf4", "tf-bnb-int8"])
def test_bad_no_config_says_so(tmp_path, name):
    config, _, tensors = q.checkpoint(name)
    del config["quantization_config"]
    assert q.mine(q.write(tmp_path, config, tensors)) == {("quant-config-missing", "error", "config.json")}


def test_good_whole_weights_and_integer_buffers(tmp_path):
    config, _, tensors = q.checkpoint("tf-fp8-dense")
    del config["quantization_config"]
    plain = {n: t for n, t in tensors.items() if t[0] == "BF16"} | {
        "model.position_ids": ("I64", [1, 4], bytes(32)),
        "scaled_fp8": ("F8_E4M3", [0], b""),
    }
    assert not q.mine(q.write(tmp_path, config, plain))
