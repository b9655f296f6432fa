"""GLM-5.3-Flash (glm5_next): linear (KDA) and indexed latent attention in turn, hyper-connections, 288 experts a layer.

Names and shapes as transformers 5.24.0 saves them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import Expected, Family, Names, Sizes, experts, gated_mlp, head, linear, norm
from hubrelease.architectures.llama_like import TWO_NORMS

TEXT, VISION = "model.language_model.", "model.visual."


def tensors(config: Sizes, names: Names) -> Iterator[Expected]:
    text = config.below("text_config")
    rows, hidden = text.size("vocab_size"), text.size("hidden_size")
    yield from linear(TEXT, "embed_tokens", rows, hidden)
    for layer in range(text.count("num_hidden_layers")):
        at = f"layers.{layer}"
        yield from hyper_connections(text, at)
        if is_linear(text, layer):
            yield from linear_attention(text, f"{at}.self_attn")
        else:
            yield from indexed_attention(text, f"{at}.self_attn")
        yield from mlp(text, names, layer, f"{at}.mlp")
        for word in TWO_NORMS:
            yield from norm(TEXT, f"{at}.{word}", hidden)
    yield from norm(TEXT, "norm", hidden)
    yield from vision(config.below("vision_config"))
    yield from head(names, text, config, False, rows, hidden)


def is_linear(config: Sizes, layer: int) -> bool:
    words = config.words("layer_types", layer + 1)
    return words[layer] == "linear_attention" if words else layer % 4 != 3


def hyper_connections(config: Sizes, at: str) -> Iterator[Expected]:
    streams = config.size("hc_mult", default=4)
    size = (2 + streams) * streams
    for word in ("hc_attn", "hc_ffn"):
        yield Expected(TEXT, f"{at}.{word}_fn", (size, streams * config.size("hidden_size")))
        yield Expected(TEXT, f"{at}.{word}_base", (size,))
        yield Expected(TEXT, f"{at}.{word}_scale", (3,))


def linear_attention(config: Sizes, at: str) -> Iterator[Expected]:
    hidden, heads, size = config.size("hidden_size"), config.size("linear_num_heads"), config.size("linear_head_dim")
    rows = heads * size
    for word in "qkv":
        yield from linear(TEXT, f"{at}.{word}_proj", rows, hidden)
        yield Expected(TEXT, f"{at}.{word}_conv1d.weight", (rows, 1, config.size("linear_conv_kernel_dim", default=4)))
    for word in "fg":
        yield from linear(TEXT, f"{at}.{word}_a_proj", size, hidden)
        yield from linear(TEXT, f"{at}.{word}_b_proj", rows, size)
    yield from linear(TEXT, f"{at}.b_proj", heads, hidden)
    yield Expected(TEXT, f"{at}.A_log", (heads,))
    yield Expected(TEXT, f"{at}.dt_bias", (rows,))
    yield from norm(TEXT, f"{at}.o_norm", size)
    yield from linear(TEXT, f"{at}.o_proj", hidden, rows)


def indexed_attention(config: Sizes, at: str) -> Iterator[Expected]:
    hidden, heads, rank = config.size("hidden_size"), config.size("num_attention_heads"), config.size("kv_lora_rank")
    rope, plain, value = config.count("qk_rope_head_dim", default=0), config.size("qk_nope_head_dim"), config.size("v_head_dim")
    query_rank, biased = config.size("q_lora_rank"), config.flag("attention_bias")
    yield from linear(TEXT, f"{at}.q_a_proj", query_rank, hidden, biased)
    yield from norm(TEXT, f"{at}.q_a_layernorm", query_rank)
    yield from linear(TEXT, f"{at}.q_b_proj", heads * (plain + rope), query_rank)
    yield from linear(TEXT, f"{at}.kv_a_proj_with_mqa", rank + rope, hidden, biased)
    yield from norm(TEXT, f"{at}.kv_a_layernorm", rank)
    yield from linear(TEXT, f"{at}.kv_b_proj", heads * (plain + value), rank)
    yield from linear(TEXT, f"{at}.o_proj", hidden, heads * value, biased)
    yield from indexer(config, f"{at}.indexer")


def indexer(config: Sizes, at: str) -> Iterator[Expected]:
    """A layer that shares another's choice has none, so none is required."""
    hidden, heads, size = config.size("hidden_size"), config.size("index_n_heads"), config.size("index_head_dim")
    rows = {
        "wq_b.weight": (heads * size, config.size("q_lora_rank")), "wk.weight": (size, hidden), "weights_proj.weight": (heads, hidden),
        "k_norm.weight": (size,), "k_norm.bias": (size,), "index_kpool_compress_gate": (size, hidden),
        "index_kpool_compress_ape": (config.size("index_kpool", default=16), size),
    }  # fmt: skip
    for word, shape in rows.items():
        yield Expected(TEXT, f"{at}.{word}", shape, required=False)


def mlp(config: Sizes, names: Names, layer: int, at: str) -> Iterator[Expected]:
    hidden, words = config.size("hidden_size"), config.words("mlp_layer_types", layer + 1)
    if (words[layer] == "dense") if words else layer < 3:
        yield from gated_mlp(TEXT, at, hidden, config.size("intermediate_size"))
        return
    count, inner = config.count("n_routed_experts"), config.size("moe_intermediate_size")
    yield from linear(TEXT, f"{at}.gate", count, hidden)
    yield Expected(TEXT, f"{at}.gate.e_score_correction_bias", (count,))
    yield from experts(TEXT, at, count, hidden, inner, names)
    if shared := config.count("n_shared_experts", default=1):
        yield from gated_mlp(TEXT, f"{at}.shared_experts", hidden, inner * shared)


def vision(config: Sizes) -> Iterator[Expected]:
    hidden, inner, out = config.size("hidden_size"), config.size("intermediate_size"), config.size("out_hidden_size")
    patch, merge, biased = (
        config.size("patch_size", default=14),
        config.size("spatial_merge_size", default=2),
        config.flag("attention_bias", True),
    )
    kernel = (config.size("in_channels", default=3), config.size("temporal_patch_size", default=2), patch, patch)
    yield Expected(VISION, "patch_embed.proj.weight", (hidden, *kernel), "vision")
    yield Expected(VISION, "patch_embed.proj.bias", (hidden,), "vision")
    for block in range(config.count("depth")):
        at = f"blocks.{block}"
        yield from norm(VISION, f"{at}.norm1", hidden, part="vision")
        yield from norm(VISION, f"{at}.norm2", hidden, part="vision")
        for word in ("q_norm", "k_norm"):
            yield from norm(VISION, f"{at}.attn.{word}", hidden // config.size("num_heads"), part="vision")
        yield from linear(VISION, f"{at}.attn.qkv", 3 * hidden, hidden, biased, "vision")
        yield from linear(VISION, f"{at}.attn.proj", hidden, hidden, biased, "vision")
        yield from gated_mlp(VISION, f"{at}.mlp", hidden, inner, True, "vision")
    yield Expected(VISION, "downsample.weight", (out, hidden, merge, merge), "vision")
    yield Expected(VISION, "downsample.bias", (out,), "vision")
    yield from norm(VISION, "merger.post_projection_norm", out, True, "vision")
    yield from linear(VISION, "merger.proj", out, out, part="vision")
    yield from gated_mlp(VISION, "merger", out, config.size("projection_intermediate_size", default=10240), part="vision")
    yield from norm(VISION, "post_layernorm", hidden, part="vision")


FAMILIES = (Family("glm5_next", frozenset(("glm5_next",)), ("Glm5NextForConditionalGeneration",), tensors, stacks=True),)
