"""HR514 card-base-model: ids in the card that are local paths, or none of the Hub."""

import pytest
from cards import judged, kinds

CARD = ("card-base-model", "error", "README.md")


@pytest.mark.parametrize(
    "value",
    [
        "/home/builder/models/tiny-base", "./tiny-base", "../models/tiny-base", "~/models/tiny-base", "C:\\models\\tiny-base", "D:/models/tiny",
        "models/org/tiny-base", "file:///data/tiny", "outputs/checkpoint-500", "checkpoint-500", "ckpts/llama-sft", "models--org--tiny/snapshots/abc",
        "https://huggingface.co/example-org/tiny-base", "Tiny Base", "example-org/tiny base", "example-org/tiny--base", '""', "", "null", "~",
        "{id: example-org/tiny-base}", "[example-org/tiny-base, /data/other]", "[null]", "7", "'{base}'", "/workspace/merged",
    ],
)  # fmt: skip
def test_bad_base_models(tmp_path, value):
    assert kinds(judged(tmp_path, front={"base_model": value})) == {CARD}


@pytest.mark.parametrize("value", ["/var/hf/images/", "'librispeech 960h'", "[org/good, ./local]", "https://huggingface.co/datasets/org/x"])
def test_bad_datasets(tmp_path, value):
    assert kinds(judged(tmp_path, front={"datasets": value})) == {CARD}


def test_bad_tag_of_peft(tmp_path):
    found = judged(tmp_path, front={"tags": "['base_model:adapter:/workspace/base', lora]"})
    assert kinds(found) == {CARD}
    assert found[0].where.pointer == "/tags/0"


def test_bad_says_where_and_what_instead(tmp_path):
    (found,) = judged(tmp_path, front={"base_model": "https://huggingface.co/example-org/tiny-base/"})
    assert (found.where.line, found.where.pointer) == (3, "/base_model")
    assert "example-org/tiny-base" in found.mend


def test_bad_base_that_is_the_release_or_not_provenances(tmp_path):
    warning = ("card-base-model", "warning", "README.md")
    assert kinds(judged(tmp_path / "a", front={"base_model": "example-org/tiny-llama"})) == {warning}
    assert kinds(judged(tmp_path / "b", front={"base_model": "example-org/another"})) == {warning}
    assert not judged(tmp_path / "c", front={"base_model": "example-org/another"}, spec={"card": {"base_model": "example-org/another"}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("base_model", "example-org/tiny-base"), ("base_model", "[example-org/tiny-base, other/model-2.1_b]"), ("base_model", "Example-Org/Tiny-Base"),
        ("datasets", "[imdb, org/data-set_1.0, glaive-function-calling-v2]"), ("datasets", "imdb"), ("datasets", "[]"), ("new_version", "org/v2"),
        ("tags", "['base_model:adapter:org/base', 'base_model:quantized:org/base']"), ("base_model", "&b example-org/tiny-base"), ("base_model", None),
    ],
)  # fmt: skip
def test_good_ids(tmp_path, key, value):
    front = {key: value, **({"base_model_relation": None} if value is None else {})}
    assert not judged(tmp_path, front=front)


def test_good_without_provenance(tmp_path):
    assert not judged(tmp_path, front={"base_model": "gpt2"}, bare=True)
