"""Dense decoders of the llama kind: one attention and one gated MLP a layer, with the small differences of each maker.

Names and shapes as transformers 5.24.0 saves them; mistral, granite and yi also as their published indexes have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hubrelease.architectures import Expected, Family, Names, Sizes, Tensors, gated_mlp, head, linear, norm

TWO_NORMS = ("input_layernorm", "post_attention_layernorm")
POST_NORMS = ("post_attention_layernorm", "post_feedforward_layernorm")
FOUR_NORMS = (*TWO_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")


@dataclass(frozen=True)
class Style:
    """What sets one decoder apart. `qkv_bias` and `o_bias` are a flag's name, or whether there is one always.

    `qk_norm`: none, head (one head's size) or full (all heads). `fused`: which of qkv and gate_up are one matrix.
    """

    qkv_bias: str | bool = False
    o_bias: str | bool = False
    mlp_bias: str | bool = False
    qk_norm: str = "none"
    norms: tuple[str, ...] = TWO_NORMS
    fused: frozenset[str] = frozenset()
    head_dim: int | None = None
    tied: bool = False


def decoder(style: Style) -> Tensors:
    def tensors(config: Sizes, names: Names) -> Iterator[Expected]:
        prefix = names.prefix("embed_tokens.weight", "model.", "")
        yield from text(config, config, names, style, prefix)

    return tensors


def text(config: Sizes, whole: Sizes, names: Names, style: Style, prefix: str) -> Iterator[Expected]:
    """The language model that `config` describes, its tensors under `prefix`."""
    rows, hidden = config.size("vocab_size"), config.size("hidden_size")
    yield from linear(prefix, "embed_tokens", rows, hidden)
    for layer in range(config.count("num_hidden_layers")):
        yield from attention(config, style, prefix, f"layers.{layer}.self_attn")
        yield from mlp(config, style, prefix, f"layers.{layer}.mlp")
        for word in style.norms:
            yield from norm(prefix, f"layers.{layer}.{word}", hidden)
    yield from norm(prefix, "norm", hidden)
    yield from head(names, config, whole, style.tied, rows, hidden)


def head_dim(config: Sizes, default: int | None = None) -> int:
    return config.size("head_dim", default=default or config.size("hidden_size") // config.size("num_attention_heads"))


def bias(config: Sizes, said: str | bool) -> bool:
    return config.flag(said) if isinstance(said, str) else said


def attention(config: Sizes, style: Style, prefix: str, at: str) -> Iterator[Expected]:
    hidden, heads, size = config.size("hidden_size"), config.size("num_attention_heads"), head_dim(config, style.head_dim)
    rows, kv_rows = heads * size, config.size("num_key_value_heads", default=heads) * size
    if "qkv" in style.fused:
        yield from linear(prefix, f"{at}.qkv_proj", rows + 2 * kv_rows, hidden, bias(config, style.qkv_bias))
    else:
        for word, count in (("q", rows), ("k", kv_rows), ("v", kv_rows)):
            yield from linear(prefix, f"{at}.{word}_proj", count, hidden, bias(config, style.qkv_bias))
    yield from linear(prefix, f"{at}.o_proj", hidden, rows, bias(config, style.o_bias))
    if style.qk_norm != "none":
        yield from norm(prefix, f"{at}.q_norm", size if style.qk_norm == "head" else rows)
        yield from norm(prefix, f"{at}.k_norm", size if style.qk_norm == "head" else kv_rows)


def mlp(config: Sizes, style: Style, prefix: str, at: str) -> Iterator[Expected]:
    hidden, inner, biased = config.size("hidden_size"), config.size("intermediate_size"), bias(config, style.mlp_bias)
    if "gate_up" in style.fused:
        yield from linear(prefix, f"{at}.gate_up_proj", 2 * inner, hidden, biased)
        yield from linear(prefix, f"{at}.down_proj", hidden, inner, biased)
    else:
        yield from gated_mlp(prefix, at, hidden, inner, biased)


def family(name: str, stem: str, style: Style, *model_types: str) -> Family:
    """A Family of `<stem>ForCausalLM` and `<stem>Model`; task heads of many kinds stay unknown."""
    return Family(name, frozenset(model_types or (name,)), (f"{stem}ForCausalLM",), decoder(style), style.tied)


LLAMA = Style("attention_bias", "attention_bias", "mlp_bias")
QWEN2 = Style(qkv_bias=True)
QWEN3 = Style("attention_bias", "attention_bias", qk_norm="head")
GLM_NORMS = (*TWO_NORMS, "post_self_attn_layernorm", "post_mlp_layernorm")

FAMILIES = (
    family("llama", "Llama", LLAMA),
    family("mistral", "Mistral", Style()),
    family("qwen2", "Qwen2", QWEN2),
    family("qwen3", "Qwen3", QWEN3),
    family("gemma", "Gemma", Style("attention_bias", "attention_bias", head_dim=256, tied=True)),
    family("gemma2", "Gemma2", Style("attention_bias", "attention_bias", norms=FOUR_NORMS, head_dim=256, tied=True)),
    family("gemma3_text", "Gemma3", Style("attention_bias", "attention_bias", False, "head", FOUR_NORMS, head_dim=256, tied=True)),
    family("granite", "Granite", LLAMA),
    family("smollm3", "SmolLM3", Style("attention_bias", "attention_bias", "mlp_bias", tied=True)),
    family("olmo2", "Olmo2", Style("attention_bias", "attention_bias", qk_norm="full", norms=POST_NORMS)),
    family("phi3", "Phi3", Style(fused=frozenset(("qkv", "gate_up")))),
    family("glm4", "Glm4", Style("attention_bias", norms=GLM_NORMS, fused=frozenset(("gate_up",)))),
    family("exaone4", "Exaone4", Style(qk_norm="head", norms=POST_NORMS)),
)  # fmt: skip
