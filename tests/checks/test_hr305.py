from __future__ import annotations

import tiny
from meaning import changed, judged, one, reshaped

TIED = changed("config.json", tie_word_embeddings=True)
EMBEDDING = tiny.weights()["model.embed_tokens.weight"]


def test_bad_a_tied_head_of_its_own(tmp_path):
    found = one(tmp_path, TIED)
    assert (found.kind, found.severity, found.where.tensor) == ("tied-head-differs", "error", "lm_head.weight")


def test_bad_one_byte_in_the_middle_is_seen_with_deep(tmp_path):
    rows = 20_000
    data = bytes(rows * 16)
    other = data[: rows * 8 + 1] + b"\1" + data[rows * 8 + 2 :]
    files = reshaped({"model.embed_tokens.weight": ("BF16", [rows, 8], data), "lm_head.weight": ("BF16", [rows, 8], other)})
    big = changed("config.json", tie_word_embeddings=True, vocab_size=rows)
    assert judged(tmp_path / "deep", files | big, deep=True) == [("tied-head-differs", "error", "model.safetensors")]


def test_good_a_copy_of_the_embedding(tmp_path):
    assert judged(tmp_path, TIED | reshaped({"lm_head.weight": EMBEDDING})) == []


def test_good_untied(tmp_path):
    assert judged(tmp_path) == []


def test_good_a_quantised_head_can_not_be_compared(tmp_path):
    assert judged(tmp_path, TIED | reshaped({"lm_head.weight": ("F8_E4M3", [16, 8], bytes(128))})) == []
