from __future__ import annotations

import pytest
from meaning import judged


def listed(*files):
    return {"annotations": {"files": list(files)}}


def test_bad_generation_config(tmp_path):
    assert judged(tmp_path, {"generation_config.json": None}, base=listed("generation_config.json")) == [
        ("side-file-missing", "warning", "generation_config.json")
    ]


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model", "vocab.txt"])
def test_bad_no_tokenizer_at_all(tmp_path, name):
    assert judged(tmp_path, {"tokenizer.json": None}, base=listed(name)) == [("side-file-missing", "error", name)]


def test_bad_pooling(tmp_path):
    assert judged(tmp_path, base=listed("1_Pooling/config.json", "config.json")) == [
        ("side-file-missing", "warning", "1_Pooling/config.json")
    ]


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "special_tokens_map.json", "added_tokens.json", "tokenizer.model", "README.md", "LICENSE", "figures/a.png",
                                  "original/consolidated.00.pth", "onnx/model.onnx", "model-00001-of-00002.safetensors", "hf_quant_config.json"])  # fmt: skip
def test_good_files_that_others_hold_or_that_nobody_needs(tmp_path, name):
    assert judged(tmp_path, base=listed(name)) == []


def test_good_omitted(tmp_path):
    spec = {"side_files": {"omit": [{"path": "generation_*", "reason": "sampling is the server's"}]}}
    assert judged(tmp_path, {"generation_config.json": None}, spec, base=listed("generation_config.json")) == []


def test_good_a_pattern_that_takes_for_ever(tmp_path):
    spec = {"side_files": {"omit": [{"path": "*a" * 400 + "b", "reason": "x"}]}}
    name = "generation_config.json"
    assert judged(tmp_path, {name: None}, spec, base=listed(name, "a" * 900)) in ([], [("side-file-missing", "warning", name)])


@pytest.mark.parametrize("files", [None, 3, {"a": 1}, [None, 3, {}]])
def test_good_other_forms_of_the_list(tmp_path, files):
    assert judged(tmp_path, {"generation_config.json": None}, base={"annotations": {"files": files}}) == []
