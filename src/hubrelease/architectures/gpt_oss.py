"""gpt-oss: attention with sinks, experts fused to a tensor a layer, either plain or as MXFP4 blocks and scales.

Names and shapes of the plain form as transformers 5.24.0 saves them, of the blocks as openai/gpt-oss-20b has them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import Expected, Family, Names, Sizes, head, linear, norm
from hubrelease.architectures.llama_like import TWO_NORMS, Style, attention

STYLE = Style("attention_bias", "attention_bias")
MXFP4_GROUP = 32


def tensors(config: Sizes, names: Names) -> Iterator[Expected]:
    rows, hidden = config.size("vocab_size"), config.size("hidden_size")
    yield from linear("model.", "embed_tokens", rows, hidden)
    for layer in range(config.count("num_hidden_layers")):
        at = f"layers.{layer}"
        yield from attention(config, STYLE, "model.", f"{at}.self_attn")
        yield Expected("model.", f"{at}.self_attn.sinks", (config.size("num_attention_heads"),))
        for word in TWO_NORMS:
            yield from norm("model.", f"{at}.{word}", hidden)
        yield from linear("model.", f"{at}.mlp.router", config.count("num_local_experts"), hidden, True)
        yield from fused_experts(config, names, f"{at}.mlp.experts")
    yield from norm("model.", "norm", hidden)
    yield from head(names, config, config, False, rows, hidden)


def fused_experts(config: Sizes, names: Names, at: str) -> Iterator[Expected]:
    count, hidden, inner = config.count("num_local_experts"), config.size("hidden_size"), config.size("intermediate_size")
    matrices = (("gate_up_proj", hidden, 2 * inner), ("down_proj", inner, hidden))
    blocks = any(f"model.{at}.{word}_blocks" in names.names for word, _, _ in matrices)
    plain = any(f"model.{at}.{word}" in names.names for word, _, _ in matrices)
    for word, columns, rows in matrices:
        yield Expected("model.", f"{at}.{word}_bias", (count, rows), required=blocks or plain)
        if blocks:
            groups = columns // MXFP4_GROUP
            yield Expected("model.", f"{at}.{word}_blocks", (count, rows, groups, MXFP4_GROUP // 2))
            yield Expected("model.", f"{at}.{word}_scales", (count, rows, groups))
        elif plain:
            yield Expected("model.", f"{at}.{word}", (count, columns, rows))


FAMILIES = (Family("gpt_oss", frozenset(("gpt_oss",)), ("GptOssForCausalLM",), tensors, closed=False, stacks=True),)
