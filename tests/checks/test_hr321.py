from __future__ import annotations

import pytest
import tiny
from meaning import judged


@pytest.mark.parametrize("data", [b"{", b"{'a': 1}", b"\xff", b'{"a": 1,}', b"\xef\xbb\xbf{}", b"// no\n{}", b"[" * 5000])
def test_bad_no_reader_takes_it(tmp_path, data):
    assert ("json-invalid", "error", "generation_config.json") in judged(tmp_path, {"generation_config.json": data})


@pytest.mark.parametrize("data", [b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}'])
def test_bad_readers_differ(tmp_path, data):
    assert judged(tmp_path, {"special_tokens_map.json": data}) == [("json-invalid", "warning", "special_tokens_map.json")]


@pytest.mark.parametrize("data", [b"[]", b"null", b'"x"', b"3"])
def test_bad_no_object(tmp_path, data):
    assert ("json-invalid", "error", "adapter_config.json") in judged(tmp_path, {"adapter_config.json": data})


def test_bad_config(tmp_path):
    assert ("json-invalid", "error", "config.json") in judged(tmp_path, {"config.json": b""})


def test_good_others_files(tmp_path):
    files = {
        ".vscode/settings.json": b"// comment\n{}",
        "tsconfig.json": b"{,}",
        "benchmarks/config.json": b"{",
        "modules.json": b"[]",
        "examples/config.json": b"{",
    }
    assert judged(tmp_path, files) == []


def test_good_a_pointer_is_another_finding(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12\n"
    assert judged(tmp_path, {"tokenizer.json": pointer}) == []


def test_good_plain_ones(tmp_path):
    assert judged(tmp_path, {"vocab.json": tiny.dumps({"a": 0})}) == []
