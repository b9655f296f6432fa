from __future__ import annotations

import pytest
import tiny
from meaning import changed, judged, one

IM_END = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def speaking(config, generation, tokenizer, *, text=None, tokens=(), template=""):
    """The tiny model with end tokens given in its three files; None leaves one out."""
    added = [{"id": number, "content": token, "special": True} for number, token in (*enumerate(("<unk>", "<s>", "</s>")), *tokens)]
    files = changed("config.json", eos_token_id=config, **({"text_config": text} if text else {}))
    files |= changed("generation_config.json", eos_token_id=generation) | changed("tokenizer_config.json", eos_token=tokenizer)
    return files | changed("tokenizer.json", added_tokens=added) | ({"chat_template.jinja": template.encode()} if template else {})


@pytest.mark.parametrize(("values", "file"), [
    ((2, 3, "</s>"), "generation_config.json"), ((2, [3, 4], "</s>"), "generation_config.json"), ((3, 2, "</s>"), "config.json"), ((2, 2, "<s>"), "tokenizer_config.json"),
    (([3, 4], None, "</s>"), "config.json"), ((2, 3, None), "generation_config.json"), ((2, 2, {"content": "<s>"}), "tokenizer_config.json"),
])  # fmt: skip
def test_bad_one_file_says_otherwise(tmp_path, values, file):
    found = one(tmp_path, speaking(*values))
    assert (found.kind, found.severity, found.where.file) == ("eos-mismatch", "warning", file)


def test_bad_a_base_model_whose_tokenizer_ends_turns(tmp_path):
    """Qwen3-…-Base: tokenizer <|im_end|>, configs <|endoftext|> (QwenLM/Qwen3 issue 1422)."""
    files = speaking(3, 3, "<|im_end|>", tokens=[(3, "<|endoftext|>"), (4, "<|im_end|>")], template=IM_END)
    assert judged(tmp_path, files) == [("eos-mismatch", "warning", "tokenizer_config.json")]


@pytest.mark.parametrize(("config", "generation", "tokenizer"), [
    (4, [4, 3], "<|im_end|>"),                # Qwen2.5 and Qwen3, chat
    (3, [4, 3], "<|im_end|>"),                # Qwen3.5: the nested config names the end of a document
    ([3, 4, 5], [3, 4, 5], "<|im_end|>"),     # Llama 3.1, GLM-4
    (3, [3, 4, 5], "<|endoftext|>"),          # Phi-3
    (3, None, "<|endoftext|>"),
    (None, None, "<|im_end|>"),
    (3, 4, "<|endoftext|>"),                  # Kimi K2: the generation config ends turns, as the template does
])  # fmt: skip
def test_good_published_combinations(tmp_path, config, generation, tokenizer):
    tokens = [(3, "<|endoftext|>"), (4, "<|im_end|>"), (5, "<|eom_id|>")]
    assert judged(tmp_path, speaking(config, generation, tokenizer, tokens=tokens, template=IM_END)) == []


def test_good_nested(tmp_path):
    assert judged(tmp_path, speaking(..., 2, "</s>", text={"eos_token_id": 2, "num_hidden_layers": 2})) == []


def test_good_a_token_that_no_file_knows_the_id_of(tmp_path):
    assert judged(tmp_path, speaking(2, 2, "<|unknown|>")) == []


@pytest.mark.parametrize("value", ["2", [], [None], True, -1, 1.5, {"a": 1}])
def test_good_values_of_other_kinds(tmp_path, value):
    assert judged(tmp_path, speaking(value, 2, "</s>")) == []


def test_good_special_tokens_map(tmp_path):
    files = speaking(2, 2, ...) | {"special_tokens_map.json": tiny.dumps({"eos_token": {"content": "</s>"}})}
    assert judged(tmp_path, files) == []


CARD = {"README.md": tiny.CARD.replace("---\n\n#", "tags: [conversational]\n---\n\n#").encode()}
TOKENS = [(3, "<|endoftext|>"), (4, "<|im_end|>")]


def test_bad_a_chat_model_that_never_stops(tmp_path):
    files = speaking(3, 3, "<|endoftext|>", tokens=TOKENS, template=IM_END) | CARD
    found = one(tmp_path, files)
    assert (found.kind, found.severity, found.where.file) == ("eos-mismatch", "warning", "generation_config.json")
    assert "<|im_end|>" in found.message


@pytest.mark.parametrize("template", [IM_END + "{{ eos_token }}", IM_END + "<|endoftext|>", "{{ messages }}", "<end_of_turn>"])
def test_good_turns_that_end(tmp_path, template):
    assert judged(tmp_path, speaking(3, 3, "<|endoftext|>", tokens=TOKENS, template=template) | CARD) == []


def test_good_a_base_model_with_a_template(tmp_path):
    assert judged(tmp_path, speaking(3, 3, "<|endoftext|>", tokens=TOKENS, template=IM_END)) == []
