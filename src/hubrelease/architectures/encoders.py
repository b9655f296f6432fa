"""Encoders of the BERT kind (bert, roberta, xlm-roberta, camembert, mpnet, distilbert), Whisper, and GPT-2.

Names and shapes as transformers 5.24.0 saves them. Task heads differ from class to class and are not told here.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import Expected, Family, Names, Sizes, linear, norm

BERT_TYPES = frozenset(("bert", "roberta", "xlm-roberta", "camembert"))
TASKS = ("Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")


def classes(*stems: str) -> tuple[str, ...]:
    return tuple(f"{stem}{task}" for stem in stems for task in TASKS)


def embeddings(config: Sizes, prefix: str, hidden: int, kinds: bool) -> Iterator[Expected]:
    yield from linear(prefix, "embeddings.word_embeddings", config.size("vocab_size"), hidden)
    yield from linear(prefix, "embeddings.position_embeddings", config.size("max_position_embeddings"), hidden)
    if kinds:
        yield from linear(prefix, "embeddings.token_type_embeddings", config.size("type_vocab_size", default=2), hidden)
    yield from norm(prefix, "embeddings.LayerNorm", hidden, True)


def bert(config: Sizes, names: Names) -> Iterator[Expected]:
    prefix = names.prefix("embeddings.word_embeddings.weight", "", "bert.", "roberta.")
    hidden, inner = config.size("hidden_size"), config.size("intermediate_size")
    yield from embeddings(config, prefix, hidden, True)
    for layer in range(config.count("num_hidden_layers")):
        at = f"encoder.layer.{layer}"
        for word in ("self.query", "self.key", "self.value", "output.dense"):
            yield from linear(prefix, f"{at}.attention.{word}", hidden, hidden, True)
        yield from norm(prefix, f"{at}.attention.output.LayerNorm", hidden, True)
        yield from feed_forward(prefix, at, hidden, inner)


def feed_forward(prefix: str, at: str, hidden: int, inner: int) -> Iterator[Expected]:
    yield from linear(prefix, f"{at}.intermediate.dense", inner, hidden, True)
    yield from linear(prefix, f"{at}.output.dense", hidden, inner, True)
    yield from norm(prefix, f"{at}.output.LayerNorm", hidden, True)


def mpnet(config: Sizes, names: Names) -> Iterator[Expected]:
    prefix = names.prefix("embeddings.word_embeddings.weight", "", "mpnet.")
    hidden, inner = config.size("hidden_size"), config.size("intermediate_size")
    yield from embeddings(config, prefix, hidden, False)
    for layer in range(config.count("num_hidden_layers")):
        at = f"encoder.layer.{layer}"
        for word in "qkvo":
            yield from linear(prefix, f"{at}.attention.attn.{word}", hidden, hidden, True)
        yield from norm(prefix, f"{at}.attention.LayerNorm", hidden, True)
        yield from feed_forward(prefix, at, hidden, inner)


def distilbert(config: Sizes, names: Names) -> Iterator[Expected]:
    prefix = names.prefix("embeddings.word_embeddings.weight", "", "distilbert.")
    hidden, inner = config.size("dim", "hidden_size"), config.size("hidden_dim")
    yield from embeddings(config, prefix, hidden, False)
    for layer in range(config.count("n_layers", "num_hidden_layers")):
        at = f"transformer.layer.{layer}"
        for word in ("q_lin", "k_lin", "v_lin", "out_lin"):
            yield from linear(prefix, f"{at}.attention.{word}", hidden, hidden, True)
        yield from norm(prefix, f"{at}.sa_layer_norm", hidden, True)
        yield from linear(prefix, f"{at}.ffn.lin1", inner, hidden, True)
        yield from linear(prefix, f"{at}.ffn.lin2", hidden, inner, True)
        yield from norm(prefix, f"{at}.output_layer_norm", hidden, True)


def whisper(config: Sizes, names: Names) -> Iterator[Expected]:
    hidden, channels = config.size("d_model"), config.size("num_mel_bins")
    yield Expected("model.", "encoder.conv1.weight", (hidden, channels, 3))
    yield Expected("model.", "encoder.conv2.weight", (hidden, hidden, 3))
    yield from linear("model.", "encoder.embed_positions", config.size("max_source_positions"), hidden)
    yield from linear("model.", "decoder.embed_positions", config.size("max_target_positions"), hidden)
    yield from linear("model.", "decoder.embed_tokens", config.size("vocab_size"), hidden)
    for side, attentions in (("encoder", ("self_attn",)), ("decoder", ("self_attn", "encoder_attn"))):
        yield from norm("model.", f"{side}.layer_norm", hidden, True)
        for layer in range(config.count(f"{side}_layers")):
            at = f"{side}.layers.{layer}"
            for attention in attentions:
                yield from whisper_attention(f"{at}.{attention}", hidden)
            inner = config.size(f"{side}_ffn_dim")
            yield from linear("model.", f"{at}.fc1", inner, hidden, True)
            yield from linear("model.", f"{at}.fc2", hidden, inner, True)
            yield from norm("model.", f"{at}.final_layer_norm", hidden, True)


def whisper_attention(at: str, hidden: int) -> Iterator[Expected]:
    for word in "qkv":
        yield from linear("model.", f"{at}.{word}_proj", hidden, hidden, word != "k")
    yield from linear("model.", f"{at}.out_proj", hidden, hidden, True)
    yield from norm("model.", f"{at}_layer_norm", hidden, True)


def gpt2(config: Sizes, names: Names) -> Iterator[Expected]:
    """Its linears are Conv1D: [in, out]."""
    prefix = names.prefix("wte.weight", "transformer.", "")
    hidden = config.size("n_embd", "hidden_size")
    inner = config.optional("n_inner") or 4 * hidden
    yield from linear(prefix, "wte", config.size("vocab_size"), hidden)
    yield from linear(prefix, "wpe", config.size("n_positions", "max_position_embeddings"), hidden)
    for layer in range(config.count("n_layer", "num_hidden_layers")):
        at = f"h.{layer}"
        for word, rows, columns in (("attn.c_attn", hidden, 3 * hidden), ("attn.c_proj", hidden, hidden), ("mlp.c_fc", hidden, inner),
                                    ("mlp.c_proj", inner, hidden)):  # fmt: skip
            yield Expected(prefix, f"{at}.{word}.weight", (rows, columns))
            yield Expected(prefix, f"{at}.{word}.bias", (columns,))
        yield from norm(prefix, f"{at}.ln_1", hidden, True)
        yield from norm(prefix, f"{at}.ln_2", hidden, True)
    yield from norm(prefix, "ln_f", hidden, True)


FAMILIES = (
    Family("bert", BERT_TYPES, classes("Bert", "Roberta", "XLMRoberta", "Camembert"), bert, True, closed=False, stacks=True),
    Family("mpnet", frozenset(("mpnet",)), classes("MPNet"), mpnet, True, closed=False, stacks=True),
    Family("distilbert", frozenset(("distilbert",)), classes("DistilBert"), distilbert, True, closed=False, stacks=True),
    Family("whisper", frozenset(("whisper",)), ("WhisperForConditionalGeneration",), whisper, True, closed=False, stacks=True),
    Family("gpt2", frozenset(("gpt2",)), ("GPT2LMHeadModel", "GPT2Model"), gpt2, True, closed=False, stacks=True),
)
