from __future__ import annotations

import json

import pytest
import tiny
from weight_files import INDEX, judged, one, problems, sharded, with_index


def whole(data: bytes):
    return {**sharded(), INDEX: data}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"1", b'"x"', b"{}", b'{"weight_map": []}', b'{"metadata": {}, "weight_map": null}', b"\xff\xfe{}",
                                  b'{"metadata": {}, "weight_map": {"a": "b.safetensors", "a": "b.safetensors"}}', b"[" * 100_000])  # fmt: skip
def test_bad_no_index_at_all(tmp_path, data):
    assert judged(tmp_path, whole(data)) == [("index-invalid", "error", INDEX)]


@pytest.mark.parametrize("file", ["../model.safetensors", "/etc/passwd", "a/../../b.safetensors", "C:\\x.safetensors", "", "a\\b", "a\u0000b", ".", "x//y",
                                  7, None, ["model.safetensors"], {}, True])  # fmt: skip
def test_bad_a_row_names_no_file_of_the_release(tmp_path, file):
    found = one(tmp_path, with_index(sharded(), lambda index: index["weight_map"].update({"extra.weight": file})))
    assert (found.kind, found.severity, found.where.file, found.where.tensor) == ("index-invalid", "error", INDEX, "extra.weight")


def test_bad_no_metadata(tmp_path):
    assert one(tmp_path, with_index(sharded(), lambda index: index.pop("metadata"))).kind == "index-invalid"


def test_bad_no_row(tmp_path):
    kinds = {kind for kind, _, _ in judged(tmp_path, with_index(sharded(), lambda index: index.update(weight_map={})))}
    assert "index-invalid" in kinds


def test_bad_more_indexes_than_anybody_has(tmp_path):
    files = {f"{n}/{INDEX}": sharded()[INDEX] for n in range(101)}
    assert [p.code for p in problems(tmp_path, files)].count("HR230") == 1


def test_good_an_index_in_a_folder(tmp_path):
    assert not judged(tmp_path, sharded(folder="text_encoder/"))


def test_good_other_json_files(tmp_path):
    assert not judged(tmp_path, {"a.index.json": b"[]", "docs/weight_map.json": json.dumps({"weight_map": {"a": "../b"}}).encode()})


def test_good_files_in_folders(tmp_path):
    """weight_map may name files below the index."""
    weights = tiny.weights()
    index = {
        "metadata": {"total_size": sum(len(t[2]) for t in weights.values())},
        "weight_map": dict.fromkeys(weights, "parts/a.safetensors"),
    }
    assert not judged(tmp_path, {"model.safetensors": None, "parts/a.safetensors": tiny.safetensors(weights), INDEX: tiny.dumps(index)})
