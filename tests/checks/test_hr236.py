from __future__ import annotations

import pytest
from weight_files import entry, judged, one, problems, raw

BODY = bytes(16)
GOOD = entry("F32", [4], 0, 16)


@pytest.mark.parametrize("data", [
    raw(b"{", pad=False), raw(b"[]"), raw(b"null"), raw(b'"x"'), raw(b"\xff", pad=False), raw(b'{"a":}'), raw(b"{}\0\0", pad=False), raw(b"{}x", pad=False),
    raw({"a": {**GOOD, "dtype": "F31"}}, BODY), raw({"a": {**GOOD, "dtype": "f32"}}, BODY), raw({"a": {**GOOD, "dtype": 7}}, BODY),
    raw({"a": {**GOOD, "shape": [-4]}}, BODY), raw({"a": {**GOOD, "shape": [4.0]}}, BODY), raw({"a": {**GOOD, "shape": "4"}}, BODY),
    raw({"a": {**GOOD, "shape": [True, 4]}}, BODY), raw({"a": {**GOOD, "shape": [2**40, 2**40]}}, BODY), raw({"a": {**GOOD, "shape": [2**64, 0]}}, BODY),
    raw({"a": {"dtype": "F32", "data_offsets": [0, 16]}}, BODY), raw({"a": None}), raw({"a": []}), raw({"a": entry("F4", [3], 0, 2)}, bytes(2)),
    raw({"__metadata__": 1, "a": GOOD}, BODY), raw({"__metadata__": {"x": 1}, "a": GOOD}, BODY), raw({"__metadata__": ["x"], "a": GOOD}, BODY),
    raw(b'{"\\ud800":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}', BODY),
    raw(b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"x":NaN}}', BODY),
    raw(b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"x":1e999}}', BODY),
    raw(b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"x":' + b"[" * 500 + b"]" * 500 + b"}}", BODY), raw(b"[" * 100_000),
    (2**63).to_bytes(8, "little") + b"{}", b"<!DOCTYPE html><html></html>", b"\x80\x04\x95\x0c\0\0\0\0\0\0\0.",
])  # fmt: skip
def test_bad_headers(tmp_path, data):
    found = [p for p in problems(tmp_path, {"model.safetensors": data}) if p.kind != "pickle"]
    assert {(p.kind, p.severity, p.where.file) for p in found} == {("header-invalid", "error", "model.safetensors")}


def test_bad_says_what_the_file_is_instead(tmp_path):
    assert "a web page" in one(tmp_path, {"model.safetensors": b"<!DOCTYPE html><html>"}).message


def test_bad_a_sparse_claim_is_not_read(tmp_path):
    found = one(tmp_path, {"model.safetensors": (100_000_001).to_bytes(8, "little") + bytes(1000)})
    assert found.kind == "header-invalid"


@pytest.mark.parametrize("data", [
    raw({"__metadata__": {"format": "pt"}, "a": {**GOOD, "note": {"x": [1, None]}}}, BODY), raw({"__metadata__": {"format": "pt"}, "b": entry("BF16", [0, 2**50], 0, 0), "a": entry("C64", [2], 0, 16)}, BODY),
    raw({"__metadata__": {"format": "pt"}, "a": entry("F64", [], 0, 8), "ключ": entry("I64", [1], 8, 16)}, BODY),
])  # fmt: skip
def test_good_headers(tmp_path, data):
    assert not judged(tmp_path, {"model.safetensors": data})
