"""Qwen3.5 (text, vision, MTP; dense and mixture), Qwen3-Next and Qwen3-VL: linear and full attention in turn.

Names and shapes as transformers 5.24.0 saves them; those of MTP, which transformers never writes, from vLLM 0.32.0
models/qwen3_5_mtp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import Expected, Family, Names, Sizes, gated_mlp, head, linear, norm
from hubrelease.architectures.llama_like import QWEN3, TWO_NORMS, text
from hubrelease.architectures.mixture import is_sparse, qwen_mlp


def is_full(config: Sizes, layer: int) -> bool:
    if words := config.words("layer_types", layer + 1):
        return words[layer] == "full_attention"
    return (layer + 1) % config.size("full_attention_interval", default=4) == 0


def full_attention(config: Sizes, prefix: str, at: str) -> Iterator[Expected]:
    """q_proj has twice the rows: query and output gate."""
    hidden, heads, size = config.size("hidden_size"), config.size("num_attention_heads"), config.size("head_dim", default=256)
    biased, kv_rows = config.flag("attention_bias"), config.size("num_key_value_heads") * size
    yield from linear(prefix, f"{at}.q_proj", 2 * heads * size, hidden, biased)
    yield from linear(prefix, f"{at}.k_proj", kv_rows, hidden, biased)
    yield from linear(prefix, f"{at}.v_proj", kv_rows, hidden, biased)
    yield from linear(prefix, f"{at}.o_proj", hidden, heads * size, biased)
    yield from norm(prefix, f"{at}.q_norm", size)
    yield from norm(prefix, f"{at}.k_norm", size)


def linear_attention(config: Sizes, prefix: str, at: str, joined: bool) -> Iterator[Expected]:
    """Gated DeltaNet. `joined`: Qwen3-Next has q, k, v and z in one matrix, b and a in another."""
    hidden, heads, value = config.size("hidden_size"), config.size("linear_num_value_heads"), config.size("linear_value_head_dim")
    keys, values = config.size("linear_num_key_heads") * config.size("linear_key_head_dim"), heads * value
    if joined:
        yield from linear(prefix, f"{at}.in_proj_qkvz", 2 * keys + 2 * values, hidden)
        yield from linear(prefix, f"{at}.in_proj_ba", 2 * heads, hidden)
    else:
        yield from linear(prefix, f"{at}.in_proj_qkv", 2 * keys + values, hidden)
        yield from linear(prefix, f"{at}.in_proj_z", values, hidden)
        yield from linear(prefix, f"{at}.in_proj_a", heads, hidden)
        yield from linear(prefix, f"{at}.in_proj_b", heads, hidden)
    yield Expected(prefix, f"{at}.conv1d.weight", (2 * keys + values, 1, config.size("linear_conv_kernel_dim", default=4)))
    yield Expected(prefix, f"{at}.A_log", (heads,))
    yield Expected(prefix, f"{at}.dt_bias", (heads,))
    yield from norm(prefix, f"{at}.norm", value)
    yield from linear(prefix, f"{at}.out_proj", hidden, values)


def mlp(config: Sizes, names: Names, prefix: str, at: str, layer: int) -> Iterator[Expected]:
    if config.count("num_experts", "num_local_experts", default=0) and is_sparse(config, layer):
        yield from qwen_mlp(config, names, prefix, at)
    else:
        yield from gated_mlp(prefix, at, config.size("hidden_size"), config.size("intermediate_size"))


def language_model(config: Sizes, whole: Sizes, names: Names, prefix: str, joined: bool = False) -> Iterator[Expected]:
    rows, hidden = config.size("vocab_size"), config.size("hidden_size")
    yield from linear(prefix, "embed_tokens", rows, hidden)
    for layer in range(config.count("num_hidden_layers")):
        at = f"layers.{layer}"
        if is_full(config, layer):
            yield from full_attention(config, prefix, f"{at}.self_attn")
        else:
            yield from linear_attention(config, prefix, f"{at}.linear_attn", joined)
        yield from mlp(config, names, prefix, f"{at}.mlp", layer)
        for word in TWO_NORMS:
            yield from norm(prefix, f"{at}.{word}", hidden)
    yield from norm(prefix, "norm", hidden)
    yield from mtp(config, names)
    yield from head(names, config, whole, False, rows, hidden)


def mtp(config: Sizes, names: Names) -> Iterator[Expected]:
    """The MTP head; wanted whole where any of it is there, for whether it is promised is a check of its own."""
    if not names.has("mtp.fc.weight") or not (layers := config.count("mtp_num_hidden_layers", default=0)):
        return
    hidden = config.size("hidden_size")
    yield Expected("mtp.", "fc.weight", (hidden, 2 * hidden), "mtp")
    for word in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"):
        yield Expected("mtp.", f"{word}.weight", (hidden,), "mtp")
    for layer in range(layers):
        at = f"layers.{layer}"
        parts = [*full_attention(config, "mtp.", f"{at}.self_attn"), *mlp(config, names, "mtp.", f"{at}.mlp", 0)]
        yield from (wanted._replace(part="mtp") for wanted in parts)
        yield from (Expected("mtp.", f"{at}.{word}.weight", (hidden,), "mtp") for word in TWO_NORMS)


def vision(config: Sizes, prefix: str) -> Iterator[Expected]:
    hidden, inner, merge = config.size("hidden_size"), config.size("intermediate_size"), config.size("spatial_merge_size", default=2) ** 2
    patch, out = config.size("patch_size", default=16), config.size("out_hidden_size")
    kernel = (config.size("in_channels", default=3), config.size("temporal_patch_size", default=2), patch, patch)
    yield Expected(prefix, "patch_embed.proj.weight", (hidden, *kernel), "vision")
    yield Expected(prefix, "patch_embed.proj.bias", (hidden,), "vision")
    yield Expected(prefix, "pos_embed.weight", (config.size("num_position_embeddings"), hidden), "vision")
    for block in range(config.count("depth")):
        at = f"blocks.{block}"
        yield from norm(prefix, f"{at}.norm1", hidden, True, "vision")
        yield from norm(prefix, f"{at}.norm2", hidden, True, "vision")
        yield from linear(prefix, f"{at}.attn.qkv", 3 * hidden, hidden, True, "vision")
        yield from linear(prefix, f"{at}.attn.proj", hidden, hidden, True, "vision")
        yield from linear(prefix, f"{at}.mlp.linear_fc1", inner, hidden, True, "vision")
        yield from linear(prefix, f"{at}.mlp.linear_fc2", hidden, inner, True, "vision")
    yield from merger(prefix, "merger", hidden, hidden * merge, out)
    for number in range(len(config.numbers("deepstack_visual_indexes"))):
        yield from merger(prefix, f"deepstack_merger_list.{number}", hidden * merge, hidden * merge, out)


def merger(prefix: str, at: str, normed: int, merged: int, out: int) -> Iterator[Expected]:
    yield from norm(prefix, f"{at}.norm", normed, True, "vision")
    yield from linear(prefix, f"{at}.linear_fc1", merged, merged, True, "vision")
    yield from linear(prefix, f"{at}.linear_fc2", out, merged, True, "vision")


def with_vision(config: Sizes, names: Names) -> Iterator[Expected]:
    yield from language_model(config.below("text_config"), config, names, "model.language_model.")
    if not config.flag("language_model_only"):
        yield from vision(config.below("vision_config"), "model.visual.")


def text_only(config: Sizes, names: Names) -> Iterator[Expected]:
    """Also for checkpoints that keep the names of the whole model, as transformers loads those."""
    prefix = names.prefix("embed_tokens.weight", "model.", "model.language_model.")
    yield from language_model(config, config, names, prefix)


def qwen3_next(config: Sizes, names: Names) -> Iterator[Expected]:
    yield from language_model(config, config, names, "model.", joined=True)


def qwen3_vl(config: Sizes, names: Names) -> Iterator[Expected]:
    yield from text(config.below("text_config"), config, names, QWEN3, "model.language_model.")
    yield from vision(config.below("vision_config"), "model.visual.")


FAMILIES = (
    Family("qwen3_5", frozenset(("qwen3_5",)), ("Qwen3_5ForConditionalGeneration",), with_vision, stacks=True),
    Family("qwen3_5_moe", frozenset(("qwen3_5_moe",)), ("Qwen3_5MoeForConditionalGeneration",), with_vision, stacks=True),
    Family("qwen3_5_text", frozenset(("qwen3_5_text", "qwen3_5_moe_text")), ("Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"), text_only,
           closed=False, stacks=True),
    Family("qwen3_next", frozenset(("qwen3_next",)), ("Qwen3NextForCausalLM",), qwen3_next, stacks=True),
    Family("qwen3_vl", frozenset(("qwen3_vl",)), ("Qwen3VLForConditionalGeneration",), qwen3_vl, stacks=True),
)  # fmt: skip
