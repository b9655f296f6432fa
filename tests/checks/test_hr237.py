from __future__ import annotations

import json

import pytest
from weight_files import entry, judged, one, raw

META = {"__metadata__": {"format": "pt"}}
BODY = bytes(16)


@pytest.mark.parametrize("blank", [b" ", b"\n", b"\t", b"\r\n  "])
def test_bad_a_blank_before_the_object(tmp_path, blank):
    found = one(tmp_path, {"model.safetensors": raw(blank + json.dumps({**META, "a": entry("F32", [4], 0, 16)}).encode(), BODY)})
    assert (found.kind, found.severity, found.where.file) == ("header-form", "warning", "model.safetensors")


@pytest.mark.parametrize(
    ("dtype", "shape", "size"), [("F4", [2, 3], 3), ("F4", [4, 1], 2), ("F6_E2M3", [4, 2], 6), ("F6_E3M2", [2, 2, 2], 6)]
)
def test_bad_rows_that_are_no_whole_number_of_bytes(tmp_path, dtype, shape, size):
    found = one(tmp_path, {"model.safetensors": raw({**META, "a": entry(dtype, shape, 0, size)}, bytes(size))})
    assert (found.kind, found.severity, found.where.tensor) == ("header-form", "error", "a")


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "/etc/passwd", "a/../b", "a\x07b", "a\nb", "\u202egpj.weight"])
def test_bad_names(tmp_path, name):
    found = one(tmp_path, {"model.safetensors": raw({**META, name: entry("F32", [4], 0, 16)}, BODY)})
    assert (found.kind, found.severity) == ("header-form", "warning")


def test_good_what_is_legal(tmp_path):
    odd = json.dumps({**META, "a": entry("F32", [4], 0, 16)}).encode() + b" \n\t"  # a length that is no multiple of 8
    assert not judged(tmp_path / "1", {"model.safetensors": raw(odd, BODY, pad=False)})
    rows = {**META, "a": entry("F4", [3, 2], 0, 3), "b": entry("F6_E2M3", [2, 4], 3, 9), "c": entry("F4", [], 9, 9)}
    rows.pop("c")
    assert not judged(tmp_path / "2", {"model.safetensors": raw(rows, bytes(9))})
    names = {**META, "model.слой.weight": entry("F32", [2], 0, 8), "a/b..c": entry("F32", [2], 8, 16)}
    assert not judged(tmp_path / "3", {"model.safetensors": raw(names, BODY)})
