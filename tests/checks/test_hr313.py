from __future__ import annotations

import pytest
from meaning import changed, folder, judged, kinds, problems_of, saved

SEES = [
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_5",
    "gemma3",
    "llava",
    "mistral3",
    "idefics3",
    "mllama",
    "glm4v",
    "internvl",
    "whisper",
]
FILES = ["preprocessor_config.json", "processor_config.json"]


def without(family, change=lambda config, tensors: None):
    files = saved(family, change)
    return {path: data for path, data in files.items() if path != "preprocessor_config.json"}


@pytest.mark.parametrize("family", SEES)
def test_bad_no_processor(tmp_path, family):
    assert kinds(problems_of(folder(tmp_path, without(family)))) == [("preprocessor-missing", "error", "config.json")]


def test_bad_the_base_has_one(tmp_path):
    found = judged(tmp_path, base={"annotations": {"files": ["config.json", "preprocessor_config.json"]}})
    assert found == [("preprocessor-missing", "error", "config.json")]


def test_bad_an_image_classifier(tmp_path):
    files = changed("config.json", architectures=["TinyForImageClassification"], model_type="tiny_vit")
    assert judged(tmp_path, files) == [("preprocessor-missing", "error", "config.json")]


@pytest.mark.parametrize("path", FILES)
def test_good_either_file(tmp_path, path):
    assert problems_of(folder(tmp_path, without("qwen3_5") | {path: b"{}\n"})) == []


def test_good_mistral_keeps_it_in_tekken(tmp_path):
    assert problems_of(folder(tmp_path, without("mistral3") | {"tekken.json": b"{}", "params.json": b"{}"})) == []


def test_good_omitted_with_a_reason(tmp_path):
    spec = {"side_files": {"omit": [{"path": "pre*.json", "reason": "text only"}]}}
    assert judged(tmp_path, spec=spec, base={"annotations": {"files": ["preprocessor_config.json"]}}) == []


def test_good_text_only(tmp_path):
    assert judged(tmp_path) == []
