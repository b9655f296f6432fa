from __future__ import annotations

import pytest
import quantised as q

CASES = [
    ("ct-nvfp4", "weight_scale"), ("ct-nvfp4", "weight_global_scale"), ("ct-nvfp4", "input_global_scale"), ("ct-fp8", "input_scale"),
    ("ct-fp8_dynamic", "weight_scale"), ("ct-fp8_block", "weight_scale"), ("ct-w4a16", "weight_shape"), ("ct-w4a16", "weight_scale"),
    ("ct-w4a16_asym", "weight_zero_point"), ("ct-w8a8", "weight_scale"), ("ct-mxfp4", "weight_scale"), ("ct-mxfp8", "weight_scale"),
    ("ct-mixed", "weight_global_scale"), ("mo-nvfp4", "weight_scale_2"), ("mo-nvfp4", "weight_scale"), ("mo-nvfp4", "input_scale"),
    ("mo-fp8", "weight_scale"), ("mo-fp8", "input_scale"), ("mo-fp8-pb-wo", "weight_scale"), ("mo-mxfp8", "weight_scale"),
    ("mo-moe-nvfp4", "input_scale"), ("mo-mixed", "weight_scale"), ("mo-int4-awq", "weight_scale"), ("mo-w4a8-awq", "weight_scale_2"),
    ("tf-fp8-dense", "weight_scale_inv"), ("tf-fp8-tensor", "weight_scale_inv"), ("tf-bnb-int8", "SCB"), ("tf-bnb-nf4", "weight.absmax"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "leaf"), CASES)
def test_bad_a_companion_is_missing(tmp_path, name, leaf):
    def drop(config, tensors):
        found = [tensor for tensor in tensors if tensor.endswith("." + leaf)]
        del tensors[found[-1]]

    release = q.saved(tmp_path, name, drop)
    assert q.mine(release) - {("asymmetric-int", "warning", "config.json")} == {("scale-missing", "error", "model.safetensors")}


def test_bad_packed_weights_without_scales(tmp_path):
    for number, method in enumerate(("awq", "gptq")):
        config, tensors = q.packed_integers(method)
        for name in [n for n in tensors if n.endswith("layers.1.self_attn.q_proj.scales")]:
            del tensors[name]
        assert q.kinds(q.write(tmp_path / str(number), config, tensors)) == {"scale-missing"}


def test_bad_stacked_experts_without_scales(tmp_path):
    config, tensors = q.mxfp4()
    del tensors["model.layers.0.mlp.experts.down_proj_scales"]
    assert q.kinds(q.write(tmp_path, config, tensors)) == {"scale-missing"}


def test_bad_the_scales_lie_in_a_file_that_the_index_does_not_name(tmp_path):
    config, second, tensors = q.checkpoint("mo-moe-nvfp4")
    inputs = [n for n in tensors if n.endswith(".input_scale")]
    rest = [n for n in tensors if n not in inputs]
    extra = {"input_scales.safetensors": q.tiny.safetensors({n: tensors[n] for n in inputs})}
    shards = {"model-00001-of-00002.safetensors": rest[::2], "model-00002-of-00002.safetensors": rest[1::2]}
    found = q.problems(q.write(tmp_path, config, tensors, second=second, shards=shards, extra=extra))
    assert {p.kind for p in found} == {"scale-missing"}
    assert all("input_scales.safetensors has it" in p.message for p in found)


def test_good_every_companion_is_there(tmp_path):
    for number, name in enumerate(("ct-nvfp4", "mo-nvfp4", "tf-fp8-dense", "tf-fp8-moe", "tf-torchao-int8wo")):
        assert not q.mine(q.saved(tmp_path / str(number), name))


def test_good_a_shard_is_absent_then_nothing_is_missing(tmp_path):
    config, _, tensors = q.checkpoint("ct-nvfp4")
    names = list(tensors)
    shards = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    release = q.write(tmp_path, config, tensors, shards=shards)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    release = q.Release(tmp_path, q.verify_release.check_folder(tmp_path))
    assert not q.mine(release)


def test_bad_the_codes_are_missing(tmp_path):
    def drop(config, tensors):
        del tensors["model.layers.1.mlp.down_proj.weight_packed"]

    assert q.mine(q.saved(tmp_path, "ct-nvfp4", drop)) == {("scale-missing", "error", "model.safetensors")}
