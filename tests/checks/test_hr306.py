from __future__ import annotations

import pytest
from meaning import changed, folder, judged, kinds, problems_of, saved

VISION = [
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_5",
    "gemma3",
    "llava",
    "mistral3",
    "idefics3",
    "mllama",
    "llama4",
    "glm4v",
    "glm5_next",
    "internvl",
]
WORDS = ("visual", "vision", "multi_modal", "connector")


@pytest.mark.parametrize("family", VISION)
def test_bad_no_tower(tmp_path, family):
    def change(config, tensors):
        for name in [n for n in tensors if any(word in n for word in WORDS)]:
            del tensors[name]

    assert ("vision-missing", "error", "model.safetensors") in kinds(problems_of(folder(tmp_path, saved(family, change))))


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_5", "gemma3", "mllama"])
@pytest.mark.parametrize("prefix", ["model.language_model.", "backbone.", "language_model.model."])
def test_bad_a_tower_under_another_prefix(tmp_path, family, prefix):
    def change(config, tensors):
        for name in [n for n in tensors if "visual." in n or "vision_tower." in n or "vision_model." in n]:
            tensors[prefix + name.removeprefix("model.")] = tensors.pop(name)

    found = problems_of(folder(tmp_path, saved(family, change)))
    assert [p.kind for p in found] == ["vision-missing"]
    assert f"under {prefix}" in found[0].message


def test_good_text_only(tmp_path):
    def change(config, tensors):
        config["text_config"]["language_model_only"] = config["language_model_only"] = True
        for name in [n for n in tensors if "visual" in n]:
            del tensors[name]

    assert problems_of(folder(tmp_path, saved("qwen3_5", change))) == []


def test_good_an_unknown_class_with_some_tower(tmp_path):
    def change(config, tensors):
        config.update(model_type="tiny_vl", architectures=["TinyVLForConditionalGeneration"])

    assert problems_of(folder(tmp_path, saved("internvl", change))) == []


def test_good_an_empty_vision_config(tmp_path):
    assert judged(tmp_path, changed("config.json", vision_config={})) == []
