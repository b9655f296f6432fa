from __future__ import annotations

import json

import pytest
import tiny
from meaning import changed, folder, judged, kinds, one, problems_of, reshaped, saved, zeros

TOKENIZER = json.loads(tiny.model()["tokenizer.json"])


def with_tokens(*rows):
    return changed("tokenizer.json", added_tokens=[*TOKENIZER["added_tokens"], *rows])


@pytest.mark.parametrize("number", [16, 17, 99])
def test_bad_an_added_token(tmp_path, number):
    found = one(tmp_path, with_tokens({"id": number, "content": "<pad>", "special": True}))
    assert (found.kind, found.severity, found.where.file, found.where.pointer) == (
        "vocab-range",
        "error",
        "tokenizer.json",
        "/added_tokens/3",
    )
    assert "16 rows" in found.message


def test_bad_a_vocabulary_larger_than_the_embedding(tmp_path):
    vocabulary = {f"t{n}": n for n in range(18)} | {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert judged(tmp_path, changed("tokenizer.json", model={"type": "BPE", "vocab": vocabulary})) == [
        ("vocab-range", "error", "tokenizer.json")
    ]


def test_bad_unigram(tmp_path):
    pieces = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0], *([f"p{n}", -1.0] for n in range(20))]
    assert judged(tmp_path, changed("tokenizer.json", model={"type": "Unigram", "vocab": pieces})) == [
        ("vocab-range", "error", "tokenizer.json")
    ]


@pytest.mark.parametrize(
    ("file", "value"),
    [("added_tokens.json", {"<pad>": 16}), ("tokenizer_config.json", {"added_tokens_decoder": {"16": {"content": "<pad>"}}})],
)
def test_bad_older_files(tmp_path, file, value):
    assert judged(tmp_path, changed(file, **value)) == [("vocab-range", "error", file)]


@pytest.mark.parametrize(
    ("file", "key", "severity"),
    [
        ("config.json", "pad_token_id", "error"),
        ("config.json", "bos_token_id", "warning"),
        ("generation_config.json", "pad_token_id", "warning"),
    ],
)
def test_bad_special_ids_of_configs(tmp_path, file, key, severity):
    assert judged(tmp_path, changed(file, **{key: 16})) == [("vocab-range", severity, file)]


def test_bad_in_a_packed_embedding(tmp_path):
    strange = changed("config.json", model_type="tiny_new", architectures=["TinyNew"], vocab_size=99)
    files = reshaped({"model.embed_tokens.weight": None, "model.embed_tokens.weight_packed": zeros("I32", [16, 1])})
    assert judged(tmp_path, files | strange | with_tokens({"id": 16, "content": "<pad>"})) == [("vocab-range", "error", "tokenizer.json")]


def test_good_the_last_row(tmp_path):
    assert judged(tmp_path, with_tokens({"id": 15, "content": "tok15"})) == []


def test_good_rows_beyond_the_vocabulary_are_padding(tmp_path):
    assert judged(tmp_path, changed("tokenizer.json", model={"type": "BPE", "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2}})) == []


def test_good_images_have_rows_beyond_vocab_size(tmp_path):
    """Llama 3.2 Vision: the id of <|image|> is vocab_size, and the embedding has eight rows more."""
    files = saved("mllama") | {
        "tokenizer.json": tiny.dumps({"added_tokens": [{"id": 64, "content": "<|image|>"}], "model": {"vocab": {"a": 0}}})
    }
    assert kinds(problems_of(folder(tmp_path, files))) == []


@pytest.mark.parametrize("rows", [None, {}, [None, 3, {"id": "16"}, {"id": True, "content": "x"}, {"id": -1, "content": "x"}]])
def test_good_what_is_not_understood(tmp_path, rows):
    assert ("vocab-range", "error", "tokenizer.json") not in judged(tmp_path, changed("tokenizer.json", added_tokens=rows))
