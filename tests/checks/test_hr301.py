from __future__ import annotations

import pytest
import tiny
from meaning import changed, folder, judged, kinds, one, problems_of, reshaped, saved, zeros


@pytest.mark.parametrize("name", ["model.layers.0.self_attn.q_norm.weight", "optimizer.state", "model.layers.0.mlp.up_proj.lora_A.default"])
def test_bad_a_tensor_that_the_class_does_not_have(tmp_path, name):
    found = one(tmp_path, reshaped({name: [8]}))
    assert (found.kind, found.severity, found.where.file) == ("tensor-unexpected", "warning", "model.safetensors")


@pytest.mark.parametrize("wrapper", ["module.", "_orig_mod.", "base_model.model."])
def test_bad_a_wrapper_in_every_name(tmp_path, wrapper):
    tensors = {wrapper + name: value for name, value in tiny.weights().items()}
    found = problems_of(folder(tmp_path, {"config.json": tiny.model()["config.json"], "model.safetensors": tiny.safetensors(tensors)}))
    assert ("tensor-unexpected", "error", "model.safetensors") in kinds(found)
    assert {p.kind for p in found} <= {"tensor-unexpected", "tensor-missing", "lm-head-missing"}


def test_bad_a_wrapper_inside_a_name_of_an_unknown_class(tmp_path):
    strange = changed("config.json", model_type="tiny_new", architectures=["TinyNew"]) | reshaped(
        {"model.layers.0._fsdp_wrapped_module.w": [2]}
    )
    assert judged(tmp_path, strange) == [("tensor-unexpected", "error", "model.safetensors")]


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.layers.1.self_attn.k_scale",
        "model.layers.0.mlp.up_proj.input_scale",
        "scaled_fp8",
    ],
)
def test_good_buffers_and_scales(tmp_path, name):
    assert judged(tmp_path, reshaped({name: zeros("F32", [0] if name == "scaled_fp8" else [1])})) == []


def test_good_bitsandbytes_keeps_its_state_beside_a_weight(tmp_path):
    names = [f"model.layers.0.mlp.up_proj.weight.{leaf}" for leaf in ("absmax", "quant_map", "quant_state.bitsandbytes__nf4")]
    assert judged(tmp_path, reshaped({"model.layers.0.mlp.up_proj.weight": zeros("U8", [64, 1]), **{name: [4] for name in names}})) == []


def test_good_a_vision_tower_beside_the_text_class(tmp_path):
    assert (
        problems_of(
            folder(
                tmp_path,
                saved("qwen3_5_text", lambda config, tensors: tensors.update({"model.visual.pos_embed.weight": zeros("BF16", [4, 4])})),
            )
        )
        == []
    )
