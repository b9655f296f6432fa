"""DeepSeek V2 and V3 and what is built like them: kimi_k2, GLM-4.5 (plain attention), GLM-5 (indexed attention).

Names and shapes as transformers 5.24.0 saves them. MTP layers follow the main ones under the next layer numbers; they
are optional here, for whether they are promised is a check of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import Expected, Family, Names, Sizes, experts, gated_mlp, head, linear, norm
from hubrelease.architectures.llama_like import TWO_NORMS, Style, attention

PREFIX = "model."
MTP_MATRICES = (
    "embed_tokens.weight",
    "eh_proj.weight",
    "shared_head.head.weight",
    "enorm.weight",
    "hnorm.weight",
    "shared_head.norm.weight",
)


def model(config: Sizes, names: Names, kind: str) -> Iterator[Expected]:
    rows, hidden, layers = config.size("vocab_size"), config.size("hidden_size"), config.count("num_hidden_layers")
    yield from linear(PREFIX, "embed_tokens", rows, hidden)
    for layer in range(layers):
        yield from decoder_layer(config, names, kind, layer)
    yield from norm(PREFIX, "norm", hidden)
    for layer in range(layers, layers + config.count("num_nextn_predict_layers", default=0)):
        yield from mtp_layer(config, names, kind, layer)
    yield from head(names, config, config, False, rows, hidden)


def decoder_layer(config: Sizes, names: Names, kind: str, layer: int) -> Iterator[Expected]:
    at = f"layers.{layer}"
    if kind == "glm4_moe":
        style = Style("attention_bias", qk_norm="head" if config.flag("use_qk_norm") else "none")
        yield from attention(config, style, PREFIX, f"{at}.self_attn")
    else:
        yield from latent_attention(config, f"{at}.self_attn")
    if kind == "glm_moe_dsa":
        yield from indexer(config, f"{at}.self_attn.indexer")
    for word in TWO_NORMS:
        yield from norm(PREFIX, f"{at}.{word}", config.size("hidden_size"))
    yield from mlp(config, names, kind, layer, f"{at}.mlp")


def latent_attention(config: Sizes, at: str) -> Iterator[Expected]:
    hidden, heads, biased = config.size("hidden_size"), config.size("num_attention_heads"), config.flag("attention_bias")
    rope, value = config.count("qk_rope_head_dim"), config.size("v_head_dim")
    rank, plain = config.size("kv_lora_rank"), config.size("qk_nope_head_dim")
    if query_rank := config.optional("q_lora_rank"):
        yield from linear(PREFIX, f"{at}.q_a_proj", query_rank, hidden, biased)
        yield from norm(PREFIX, f"{at}.q_a_layernorm", query_rank)
        yield from linear(PREFIX, f"{at}.q_b_proj", heads * (plain + rope), query_rank)
    else:
        yield from linear(PREFIX, f"{at}.q_proj", heads * (plain + rope), hidden)
    yield from linear(PREFIX, f"{at}.kv_a_proj_with_mqa", rank + rope, hidden, biased)
    yield from norm(PREFIX, f"{at}.kv_a_layernorm", rank)
    yield from linear(PREFIX, f"{at}.kv_b_proj", heads * (plain + value), rank)
    yield from linear(PREFIX, f"{at}.o_proj", hidden, heads * value, biased)


def indexer(config: Sizes, at: str) -> Iterator[Expected]:
    """Layers that share another's choice have none, so none is required."""
    size, heads, hidden = config.size("index_head_dim"), config.size("index_n_heads"), config.size("hidden_size")
    rows = (("wq_b", (heads * size, config.size("q_lora_rank"))), ("wk", (size, hidden)), ("weights_proj", (heads, hidden)))
    for word, shape in rows:
        yield Expected(PREFIX, f"{at}.{word}.weight", shape, required=False)
    yield Expected(PREFIX, f"{at}.k_norm.weight", (size,), required=False)
    yield Expected(PREFIX, f"{at}.k_norm.bias", (size,), required=False)


def is_sparse(config: Sizes, layer: int) -> bool:
    if words := config.words("mlp_layer_types", layer + 1):
        return words[layer] == "sparse"
    return layer >= config.count("first_k_dense_replace", default=0) and layer % config.size("moe_layer_freq", default=1) == 0


def mlp(config: Sizes, names: Names, kind: str, layer: int, at: str) -> Iterator[Expected]:
    hidden, layers = config.size("hidden_size"), config.count("num_hidden_layers")
    if layer < layers and not (config.count("n_routed_experts", default=0) and is_sparse(config, layer)):
        yield from gated_mlp(PREFIX, at, hidden, config.size("intermediate_size"))
        return
    count, inner = config.count("n_routed_experts"), config.size("moe_intermediate_size")
    yield from linear(PREFIX, f"{at}.gate", count, hidden)
    yield Expected(PREFIX, f"{at}.gate.e_score_correction_bias", (count,), required=kind != "deepseek_v2")
    yield from experts(PREFIX, at, count, hidden, inner, names)
    if shared := config.count("n_shared_experts", default=0):
        yield from gated_mlp(PREFIX, f"{at}.shared_experts", hidden, inner * shared)


def mtp_layer(config: Sizes, names: Names, kind: str, layer: int) -> Iterator[Expected]:
    """Its decoder layer is checked for shapes only: makers leave different parts of it out."""
    for word in MTP_MATRICES:
        yield Expected(PREFIX, f"layers.{layer}.{word}", None, "mtp", False)
    for wanted in decoder_layer(config, names, kind, layer):
        yield wanted._replace(part="mtp", required=False)


def deepseek_v2(config: Sizes, names: Names) -> Iterator[Expected]:
    return model(config, names, "deepseek_v2")


def deepseek_v3(config: Sizes, names: Names) -> Iterator[Expected]:
    return model(config, names, "deepseek_v3")


def glm4_moe(config: Sizes, names: Names) -> Iterator[Expected]:
    return model(config, names, "glm4_moe")


def glm_moe_dsa(config: Sizes, names: Names) -> Iterator[Expected]:
    return model(config, names, "glm_moe_dsa")


FAMILIES = (
    Family("deepseek_v2", frozenset(("deepseek_v2",)), ("DeepseekV2ForCausalLM",), deepseek_v2, stacks=True),
    Family("deepseek_v3", frozenset(("deepseek_v3", "kimi_k2")), ("DeepseekV3ForCausalLM",), deepseek_v3, stacks=True),
    Family("glm4_moe", frozenset(("glm4_moe",)), ("Glm4MoeForCausalLM",), glm4_moe, stacks=True),
    Family("glm_moe_dsa", frozenset(("glm_moe_dsa",)), ("GlmMoeDsaForCausalLM",), glm_moe_dsa, stacks=True),
)
