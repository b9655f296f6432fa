from __future__ import annotations

import json
from pathlib import Path

import pytest
from meaning import adapter, folder, kinds, problems_of

FIXTURES = Path(__file__).parents[2] / ".." / "shared" / "fixtures" / "configs"
LOCAL = [
    "/home/builder/models/base", "/root/autodl-tmp/models/x", "./base", "../base", "~/models/base", "C:\\Users\\u\\base", "D:/models/base", "\\\\host\\base", "models\\base",
    "file:///models/base", "outputs/run/checkpoint-100", "base/", ".", "a b/c", "",
]  # fmt: skip


def base(value, name="plain"):
    return adapter(name, lambda config, tensors: config.update(base_model_name_or_path=value))


@pytest.mark.parametrize("value", [*LOCAL, None, 3, [], "   "])
def test_bad_no_repository(tmp_path, value):
    found = [p for p in problems_of(folder(tmp_path, base(value))) if p.kind != "private-path"]
    assert [(p.kind, p.severity, p.where.file, p.where.pointer) for p in found] == [
        ("adapter-base-local", "error", "adapter_config.json", "/base_model_name_or_path")
    ]


def test_bad_in_a_folder_below(tmp_path):
    files = {f"adapter/{path}": data for path, data in base("/mnt/x").items()}
    assert kinds(problems_of(folder(tmp_path, files))) == [("adapter-base-local", "error", "adapter/adapter_config.json")]


def test_bad_an_address(tmp_path):
    assert kinds(problems_of(folder(tmp_path, base("https://huggingface.co/org/name")))) == [
        ("adapter-base-local", "warning", "adapter_config.json")
    ]


@pytest.mark.parametrize("value", ["example-org/tiny-base", "gpt2", "Qwen/Qwen2.5-Math-1.5B", "unsloth/llama-3-8b-bnb-4bit"])
def test_good_repositories(tmp_path, value):
    assert problems_of(folder(tmp_path, base(value))) == []


def test_good_mlx_has_no_such_key(tmp_path):
    assert problems_of(folder(tmp_path, {"adapter_config.json": b'{"fine_tune_type": "lora", "lora_parameters": {"rank": 8}}'})) == []


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="../shared/fixtures is not here")
def test_good_and_bad_published_ones(tmp_path):
    said = {}
    for path in sorted(FIXTURES.glob("adapter-*.json")):
        found = problems_of(folder(tmp_path / path.stem, {"adapter_config.json": path.read_bytes()}))
        said[json.loads(path.read_bytes())["base_model_name_or_path"]] = "adapter-base-local" in {p.kind for p in found}
        assert {p.kind for p in found} <= {"adapter-base-local", "private-path"}
    assert said == {base: base != "Qwen/Qwen2.5-Math-1.5B" for base in said}
    assert len(said) == 5
