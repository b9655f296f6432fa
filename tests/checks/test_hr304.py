from __future__ import annotations

import pytest
import tiny
from meaning import changed, folder, judged, kinds, one, problems_of, reshaped, saved

HEADLESS = reshaped({"lm_head.weight": None})


def test_bad_untied_and_no_head(tmp_path):
    found = one(tmp_path, HEADLESS)
    assert (found.kind, found.severity, found.where.file, found.where.pointer) == (
        "lm-head-missing",
        "error",
        "config.json",
        "/tie_word_embeddings",
    )


def test_bad_the_class_says_untied_where_the_config_says_nothing(tmp_path):
    assert judged(tmp_path, HEADLESS | changed("config.json", tie_word_embeddings=...)) == [("lm-head-missing", "error", "config.json")]


@pytest.mark.parametrize("family", ["qwen2_vl", "llava", "gemma3", "mixtral", "qwen3_5_moe"])
def test_bad_other_classes(tmp_path, family):
    def change(config, tensors):
        config["tie_word_embeddings"] = False
        config.get("text_config", {}).pop("tie_word_embeddings", None)
        for name in [n for n in tensors if "lm_head" in n]:
            del tensors[name]

    assert ("lm-head-missing", "error", "config.json") in kinds(problems_of(folder(tmp_path, saved(family, change))))


def test_bad_a_headless_class_under_a_card_that_promises_text(tmp_path):
    assert judged(tmp_path, HEADLESS | changed("config.json", architectures=["LlamaModel"])) == [
        ("lm-head-missing", "warning", "config.json")
    ]


def test_good_a_headless_class_for_embeddings(tmp_path):
    card = tiny.CARD.replace("text-generation", "feature-extraction").encode()
    assert judged(tmp_path, HEADLESS | changed("config.json", architectures=["LlamaModel"]) | {"README.md": card}) == []


def test_good_tied(tmp_path):
    assert judged(tmp_path, HEADLESS | changed("config.json", tie_word_embeddings=True)) == []


@pytest.mark.parametrize("leaf", ["qweight", "weight_packed", "trellis"])
def test_good_a_quantised_head(tmp_path, leaf):
    assert judged(tmp_path, reshaped({"lm_head.weight": None, f"lm_head.{leaf}": [16, 4]})) == []
