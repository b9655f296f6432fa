"""Mixtures of experts with plain attention: mixtral, qwen2_moe, qwen3_moe, olmoe.

Names and shapes as transformers 5.24.0 saves them; mixtral also as its published index has them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import Expected, Family, Names, Sizes, experts, gated_mlp, head, linear, norm
from hubrelease.architectures.llama_like import QWEN3, TWO_NORMS, Style, attention

MIXTRAL, OLMOE = Style(), Style("attention_bias", "attention_bias", qk_norm="full")


def frame(config: Sizes, names: Names, style: Style) -> Iterator[Expected]:
    """What lies round the experts: embedding, attention, norms, head."""
    rows, hidden = config.size("vocab_size"), config.size("hidden_size")
    yield from linear("model.", "embed_tokens", rows, hidden)
    for layer in range(config.count("num_hidden_layers")):
        yield from attention(config, style, "model.", f"layers.{layer}.self_attn")
        for word in TWO_NORMS:
            yield from norm("model.", f"layers.{layer}.{word}", hidden)
    yield from norm("model.", "norm", hidden)
    yield from head(names, config, config, False, rows, hidden)


def mixtral(config: Sizes, names: Names) -> Iterator[Expected]:
    yield from frame(config, names, MIXTRAL)
    hidden, inner, count = config.size("hidden_size"), config.size("intermediate_size"), config.count("num_local_experts")
    for layer in range(config.count("num_hidden_layers")):
        at = f"layers.{layer}.block_sparse_moe"
        yield from linear("model.", f"{at}.gate", count, hidden)
        yield from experts("model.", at, count, hidden, inner, names, words=("w1", "w3", "w2"))


def is_sparse(config: Sizes, layer: int) -> bool:
    """Qwen's rule: a layer has experts unless mlp_only_layers names it or the step leaves it out."""
    return layer not in config.numbers("mlp_only_layers") and (layer + 1) % config.size("decoder_sparse_step", default=1) == 0


def qwen_mlp(config: Sizes, names: Names, prefix: str, at: str) -> Iterator[Expected]:
    """Router, experts and, where there is one, the shared expert with its gate."""
    hidden, count = config.size("hidden_size"), config.count("num_experts", "num_local_experts")
    yield from linear(prefix, f"{at}.gate", count, hidden)
    yield from experts(prefix, at, count, hidden, config.size("moe_intermediate_size"), names)
    if shared := config.optional("shared_expert_intermediate_size"):
        yield from gated_mlp(prefix, f"{at}.shared_expert", hidden, shared)
        yield from linear(prefix, f"{at}.shared_expert_gate", 1, hidden)


def qwen(style: Style, config: Sizes, names: Names) -> Iterator[Expected]:
    yield from frame(config, names, style)
    for layer in range(config.count("num_hidden_layers")):
        at = f"layers.{layer}.mlp"
        if config.count("num_experts", "num_local_experts") and is_sparse(config, layer):
            yield from qwen_mlp(config, names, "model.", at)
        else:
            yield from gated_mlp("model.", at, config.size("hidden_size"), config.size("intermediate_size"))


def qwen2_moe(config: Sizes, names: Names) -> Iterator[Expected]:
    return qwen(Style(qkv_bias=config.flag("qkv_bias", True)), config, names)


def qwen3_moe(config: Sizes, names: Names) -> Iterator[Expected]:
    return qwen(QWEN3, config, names)


def olmoe(config: Sizes, names: Names) -> Iterator[Expected]:
    yield from frame(config, names, OLMOE)
    hidden, count = config.size("hidden_size"), config.count("num_experts", "num_local_experts")
    for layer in range(config.count("num_hidden_layers")):
        yield from linear("model.", f"layers.{layer}.mlp.gate", count, hidden)
        yield from experts("model.", f"layers.{layer}.mlp", count, hidden, config.size("intermediate_size"), names)


FAMILIES = (
    Family("mixtral", frozenset(("mixtral",)), ("MixtralForCausalLM",), mixtral, stacks=True),
    Family("qwen2_moe", frozenset(("qwen2_moe",)), ("Qwen2MoeForCausalLM",), qwen2_moe, stacks=True),
    Family("qwen3_moe", frozenset(("qwen3_moe",)), ("Qwen3MoeForCausalLM",), qwen3_moe, stacks=True),
    Family("olmoe", frozenset(("olmoe",)), ("OlmoeForCausalLM",), olmoe, stacks=True),
)
