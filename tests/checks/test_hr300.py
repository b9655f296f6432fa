from __future__ import annotations

import pytest
from meaning import changed, checkpoints, folder, judged, kinds, one, problems_of, reshaped, saved

LLAMA, MTP_PROMISED = "model.layers.1.mlp.up_proj.weight", ("deepseek_v3", "deepseek_v3-noqlora", "glm4_moe", "glm4_moe-plain")


@pytest.mark.parametrize("name", [LLAMA, "model.norm.weight", "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight"])
def test_bad_a_tensor_is_missing(tmp_path, name):
    found = one(tmp_path, reshaped({name: None}))
    assert (found.kind, found.severity, found.where.file, found.where.tensor) == ("tensor-missing", "error", "model.safetensors", name)


def test_bad_a_layer_less_than_the_config_says(tmp_path):
    found = judged(tmp_path, changed("config.json", num_hidden_layers=3))
    assert set(found) == {("tensor-missing", "error", "model.safetensors")}
    assert len(found) == 9


def test_bad_names_under_another_prefix(tmp_path):
    release = folder(tmp_path, saved("llama", lambda config, tensors: rename(tensors, "model.layers.", "model.decoder.layers.")))
    found = problems_of(release)
    assert set(kinds(found)) == {("tensor-missing", "error", "model.safetensors")}
    assert "model.decoder.layers.0.self_attn.q_proj.weight is there in its place" in " ".join(p.message for p in found)


def test_bad_weights_of_another_model(tmp_path):
    files = saved("llama") | {"config.json": saved("bert")["config.json"]}
    found = problems_of(folder(tmp_path, files))
    assert [p.kind for p in found].count("tensor-missing") == 1
    assert "of the 37 tensors of a bert model" in found[0].message


@pytest.mark.parametrize("family", ["qwen3_5", "mixtral", "deepseek_v3", "glm5_next", "gpt_oss", "bert", "whisper", "qwen3_vl", "gpt2"])
def test_bad_any_tensor_of_any_family(tmp_path, family):
    for number, name in enumerate([n for n in names(family) if not n.startswith(("lm_head", "pooler"))][::7]):
        if "indexer" not in name and not name.startswith("model.encoder.conv") and "bias" not in name:
            found = problems_of(folder(tmp_path / str(number), saved(family, lambda config, tensors, name=name: tensors.pop(name))))
            assert any(p.kind == "tensor-missing" and p.where.tensor == name for p in found), name


@pytest.mark.parametrize("name", sorted(checkpoints()))
def test_good_what_transformers_saves(tmp_path, name):
    found = kinds(problems_of(folder(tmp_path, saved(name))))
    wanted = (
        [("mtp-missing", "error", "config.json")] if name in MTP_PROMISED else []
    )  # transformers drops MTP layers, and keeps the promise
    assert found == (wanted if name != "gpt2" else [("vocab-range", "warning", "config.json")] * 2)  # GPT2Config's own default ids


def test_good_the_tiny_model(tmp_path):
    assert judged(tmp_path) == []


def test_good_an_unknown_architecture_is_not_judged(tmp_path):
    unknown = changed("config.json", model_type="tiny_new", architectures=["TinyNewForCausalLM"])
    assert judged(tmp_path, unknown | reshaped({LLAMA: None})) == []


def test_good_a_shard_that_is_not_here_yet(tmp_path):
    release = folder(tmp_path, saved("llama"))
    release.root.joinpath("model.safetensors").unlink()
    again = folder(tmp_path, {"model.safetensors.index.json": b'{"weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors"}}'})
    assert problems_of(again) == []


def test_good_mlx_stacks_what_it_likes(tmp_path):
    files = saved(
        "qwen3_moe",
        lambda config, tensors: [tensors.pop(n) for n in list(tensors) if ".experts." in n] and config.update(quantization={"bits": 4}),
    )
    assert problems_of(folder(tmp_path, files)) == []


def names(family):
    return [name for group in checkpoints()[family]["tensors"].values() for name in group]


def rename(tensors, old, new):
    for name in list(tensors):
        tensors[name.replace(old, new)] = tensors.pop(name)
