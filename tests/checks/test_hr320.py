from __future__ import annotations

import pytest
import tiny
from meaning import changed, judged, one

UNSAFE = [
    "../.env",
    "a/../../.env",
    "/etc/passwd",
    "~/.netrc",
    "C:\\Users\\x\\vocab.txt",
    "..\\secrets.txt",
    "file:///etc/passwd",
    "\\\\host\\share\\v",
    "./../x",
]


@pytest.mark.parametrize("value", UNSAFE)
def test_bad_out_of_the_release(tmp_path, value):
    found = one(tmp_path, changed("tokenizer_config.json", vocab_file=value))
    assert (found.kind, found.severity, found.where.file, found.where.pointer) == (
        "unsafe-reference",
        "error",
        "tokenizer_config.json",
        "/vocab_file",
    )


@pytest.mark.parametrize(("file", "keys"), [
    ("config.json", {"vocab_file": "../x"}), ("tokenizer_config.json", {"tokenizer_file": "/srv/tokenizer.json"}), ("processor_config.json", {"tokenizer": {"spm_file": "../x"}}),
    ("genai_config.json", {"model": {"decoder": {"filename": "../model.onnx"}}}), ("tokenizer_config.json", {"special_tokens_map_file": "../../x.json"}),
    ("config.json", {"auto_map": {"AutoModel": "../../evil.Class"}}),
])  # fmt: skip
def test_bad_other_files_and_keys(tmp_path, file, keys):
    assert ("unsafe-reference", "error", file) in judged(tmp_path, changed(file, **keys))


def test_bad_modules_of_sentence_transformers(tmp_path):
    rows = [{"idx": 0, "type": "sentence_transformers.models.Transformer", "path": "../other"}]
    assert judged(tmp_path, {"modules.json": tiny.dumps(rows)}) == [("unsafe-reference", "error", "modules.json")]


def test_bad_a_module_that_is_not_there(tmp_path):
    rows = [
        {"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    ]
    assert judged(tmp_path, {"modules.json": tiny.dumps(rows)}) == [("unsafe-reference", "error", "modules.json")]


def test_bad_a_tokenizer_file_that_is_not_there(tmp_path):
    files = changed("tokenizer_config.json", vocab_file="spiece.model")
    assert judged(tmp_path / "beside", files) == [("unsafe-reference", "warning", "tokenizer_config.json")]
    assert judged(tmp_path / "alone", files | {"tokenizer.json": None}) == [("unsafe-reference", "error", "tokenizer_config.json")]


def test_good_inside(tmp_path):
    files = changed("tokenizer_config.json", vocab_file="./vocab.txt", tokenizer_file="tokenizer.json") | {
        "vocab.txt": b"<unk>\n<s>\n</s>\n"
    }
    assert judged(tmp_path, files) == []


def test_good_up_and_down_again(tmp_path):
    assert judged(tmp_path, {"sub/tokenizer_config.json": b'{"vocab_file": "../vocab.txt"}', "vocab.txt": b"a\n"}) == []


@pytest.mark.parametrize(
    "keys",
    [
        {"special_tokens_map_file": "/tmp/x/special_tokens_map.json"},
        {"vocab_file": None},
        {"vocab_file": ["a"]},
        {"train_file": "../train.jsonl"},
    ],
)
def test_good_what_no_loader_opens(tmp_path, keys):
    assert judged(tmp_path, changed("tokenizer_config.json", **keys)) == []


def test_good_sentence_transformers_without_files_for_a_module(tmp_path):
    rows = [
        {"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"},
    ]
    assert judged(tmp_path, {"modules.json": tiny.dumps(rows)}) == []
