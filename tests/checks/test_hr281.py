from __future__ import annotations

import pytest
import quantised as q


def group(**values):
    def change(config, tensors):
        q.block(config)["config_groups"]["group_0"] |= values

    return change


def weights(**values):
    def change(config, tensors):
        q.block(config)["config_groups"]["group_0"]["weights"] |= values

    return change


def top(**values):
    def change(config, tensors):
        q.block(config).update(values)

    return change


CASES = [
    ("ct-nvfp4", top(format="nvfp5")), ("ct-nvfp4", top(format="float-quantized")), ("ct-mixed", top(format="nvfp4-pack-quantized")), ("ct-nvfp4", top(config_groups=None)),
    ("ct-nvfp4", top(config_groups={"group_0": 3})), ("ct-nvfp4", group(format="mixed-precision")), ("ct-nvfp4", group(targets="Linear")), ("ct-nvfp4", group(weights=[1])),
    ("ct-nvfp4", weights(group_size=None)), ("ct-fp8_dynamic", weights(strategy="row")), ("ct-fp8_block", weights(block_structure=[128])),
    ("ct-fp8_dynamic", weights(strategy="token")), ("ct-fp8_dynamic", weights(group_size=128)), ("tf-fp8-dense", top(weight_block_size=[128])),
    ("tf-fp8-dense", top(weight_block_size="128")), ("tf-fp8-dense", top(weight_block_size=[0, -1])), ("tf-fp8-dense", top(scale_fmt="e8m0")),
    ("ct-nvfp4", top(ignore=["lm_head", "re:*bad"])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change"), CASES)
def test_bad_readers_refuse_it(tmp_path, name, change):
    config, _, tensors = q.checkpoint(name)
    change(config, tensors)
    assert ("quant-config-invalid", "error", "config.json") in q.mine(q.write(tmp_path, config, tensors))


def test_bad_no_algorithm(tmp_path):
    config, _, tensors = q.checkpoint("mo-nvfp4")
    q.block(config)["quant_algo"] = None
    assert "quant-config-invalid" in q.kinds(q.write(tmp_path, config, tensors))


def test_good_every_saved_config(tmp_path):
    for number, name in enumerate(sorted(q.headers())):
        assert "quant-config-invalid" not in q.kinds(q.saved(tmp_path / str(number), name))
