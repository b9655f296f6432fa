"""Which modules are quantised: over names and shapes that transformers wrote for 63 kinds of models, and over patterns. No byte is read."""

from __future__ import annotations

import meaning
import pytest

from hubrelease.conversion.rules import Choice, Wishes, choose, modules, pattern_problems, stacked
from hubrelease.errors import Where
from hubrelease.formats import named
from hubrelease.weights import Tensor

NEVER = ("embed", "norm", "lm_head", "router", "wte", "wpe", "score", "classifier", "pooler", "conv", "relative_attention_bias")
ROUTERS = ("gate", "router", "shared_expert_gate")
QWEN, GLM = "qwen3_5", "glm5_next"


def tensors_of(kind: str) -> list[Tensor]:
    found = []
    for form, names in meaning.checkpoints()[kind]["tensors"].items():
        dtype, _, text = form.partition(" ")
        found += [Tensor(name, dtype, tuple(int(size) for size in text.split("x") if size), 0, 0) for name in names]
    return found


def choice(tensors: list[Tensor], form: str = "fp8_dynamic", wishes: Wishes = Wishes()) -> Choice:  # noqa: B008
    chosen = named(form)
    return choose(modules(tensors), wishes, chosen.default_include, chosen.fused, chosen.refusal)


def matrix(name: str, rows: int = 256, columns: int = 256, dtype: str = "BF16") -> Tensor:
    return Tensor(f"{name}.weight", dtype, (rows, columns), 0, 0)


@pytest.mark.parametrize("kind", sorted(meaning.checkpoints()))
def test_no_embedding_head_norm_router_or_vision_tower_is_quantised_in_any_architecture(kind):
    for module in choice(tensors_of(kind)).quantised:
        parts = module.split(".")
        assert parts[-1] not in ROUTERS, module
        assert not any(word in parts[-1].lower() for word in NEVER), module
        assert not {"visual", "vision_tower", "vision_model", "multi_modal_projector", "classifier"} & set(parts), module


@pytest.mark.parametrize("kind", sorted(set(meaning.checkpoints()) - {"gpt2", "t5", "whisper"}))
def test_attention_and_feed_forward_matrices_are_quantised_in_every_architecture(kind):
    found = choice(tensors_of(kind))
    last = {module.rpartition(".")[2] for module in found.quantised}
    assert last & {"q_proj", "query", "q", "q_lin", "Wqkv", "query_key_value", "qkv_proj", "q_a_proj"}, sorted(last)
    assert len(last) >= 3


@pytest.mark.parametrize("kind", sorted(meaning.checkpoints()))
def test_every_matrix_is_quantised_or_has_a_reason(kind):
    tensors = tensors_of(kind)
    found = choice(tensors)
    told = set(found.quantised) | set(found.kept) | set(stacked(tensors))
    assert set(modules(tensors)) <= told
    assert not set(found.quantised) & set(found.kept)


def test_qwen3_5_keeps_what_its_readers_want_kept():
    found = choice(tensors_of(QWEN))
    last = {module.rpartition(".")[2] for module in found.quantised}
    assert last == {"in_proj_qkv", "in_proj_z", "out_proj", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    reasons = {module.rpartition(".")[2]: why for module, why in found.kept.items()}
    assert reasons["in_proj_a"] == reasons["in_proj_b"] == "is a small projection of linear attention"
    assert reasons["conv1d"] == "is a convolution"
    assert reasons["embed_tokens"] == "is an embedding"
    assert choice([matrix("mtp.fc")]).kept == {"mtp.fc": "joins the MTP layer to the model"}
    assert choice([matrix("mtp.layers.0.mlp.down_proj")]).quantised == ("mtp.layers.0.mlp.down_proj",)


def test_glm_keeps_router_indexer_and_small_projections_and_takes_experts():
    found = choice(tensors_of(GLM))
    at = "model.language_model.layers.3"
    assert f"{at}.mlp.experts.0.gate_proj" in found.quantised
    assert f"{at}.mlp.shared_experts.down_proj" in found.quantised
    assert found.kept[f"{at}.mlp.gate"] == "is a router"
    assert found.kept[f"{at}.self_attn.indexer.wk"] == "is part of the sparse-attention indexer"
    assert found.kept["model.language_model.layers.0.self_attn.f_a_proj"] == "is a small projection of linear attention"


def test_experts_in_one_tensor_are_told_and_not_silently_left():
    assert set(stacked(tensors_of("gpt_oss")).values()) == {"holds several experts in one tensor"}
    assert "model.layers.0.mlp.experts" in stacked(tensors_of("gpt_oss"))


# ----------------------------------------------------------------------------------------------------------- dimensions


def test_block_fp8_keeps_what_128_does_not_divide_and_says_so():
    found = choice([matrix("a.down_proj", 256, 192), matrix("a.o_proj", 192, 256), matrix("b.o_proj")], "fp8_block")
    assert found.quantised == ("b.o_proj",)
    assert found.kept == {"a.down_proj": "has 192 columns, no multiple of 128", "a.o_proj": "has 192 rows, no multiple of 128"}


@pytest.mark.parametrize(("form", "columns"), [("nvfp4a16", 8), ("w4a16", 64), ("w8a16", 192)])
def test_groups_must_be_whole(form, columns):
    assert choice([matrix("a.o_proj", 128, columns)], form).kept["a.o_proj"].startswith(f"has {columns} columns, no multiple of")


@pytest.mark.parametrize("form", ["fp8_block", "fp8_dynamic", "nvfp4a16", "w4a16", "w8a16"])
def test_a_fused_set_is_quantised_whole_or_not_at_all(form):
    found = choice([matrix("a.q_proj"), matrix("a.k_proj"), matrix("a.v_proj"), matrix("a.o_proj")], form, Wishes(exclude=("**.k_proj",)))
    assert found.quantised == ("a.o_proj",)
    assert found.kept["a.q_proj"] == "its sibling a.k_proj can't be quantised: is excluded by the publisher"


def test_a_fused_set_without_its_first_member_is_a_set_still():
    assert choice([matrix("a.k_proj", 192), matrix("a.v_proj")], "fp8_block").quantised == ()


# ------------------------------------------------------------------------------------------------------------- patterns

NAMES = modules([matrix("layers.0.mlp.down_proj"), matrix("layers.0.mlp.gate"), matrix("embed_tokens"), matrix("layers.0.input_layernorm")])


@pytest.mark.parametrize("wishes", [Wishes(include=("**.donw_proj",)), Wishes(exclude=("layers.*.mlp",)), Wishes(include=("layers.*",))])
def test_a_pattern_that_fits_nothing_is_a_problem(wishes):
    (found,) = pattern_problems(NAMES, wishes, Where("release.yaml"))
    assert "fits no module" in found.message


@pytest.mark.parametrize(
    ("pattern", "what"),
    [("embed_tokens", "is an embedding"), ("**.gate", "is a router"), ("**.input_layernorm", "is a norm"), ("**", "is a")],
)
def test_a_pattern_that_would_quantise_an_embedding_a_router_or_a_norm_is_a_problem(pattern, what):
    (found,) = pattern_problems(NAMES, Wishes(include=(pattern,)), Where("release.yaml"))
    assert what in found.message
    assert "would quantise" in found.message


def test_an_included_module_is_quantised_although_it_is_sensitive():
    assert choice([matrix("visual.blocks.0.attn.qkv")], wishes=Wishes(include=("visual.**",))).quantised == ("visual.blocks.0.attn.qkv",)
