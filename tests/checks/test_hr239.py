from __future__ import annotations

import pytest
from weight_files import entry, judged, problems, raw

META = {"__metadata__": {"format": "pt"}}


@pytest.mark.parametrize(("rows", "size"), [
    ({"k": entry("F32", [2], 0, 8), "v": entry("F32", [2], 0, 8)}, 16),  # the same bytes
    ({"k": entry("F32", [2], 0, 8), "v": entry("F32", [2], 4, 12)}, 12),  # some of them
    ({"k": entry("F32", [2], 0, 8), "v": entry("F32", [2], 12, 20)}, 20),  # a hole
    ({"k": entry("F32", [2], 8, 16)}, 16),  # a hole at the start
    ({"k": entry("F32", [2], 0, 8)}, 40),  # bytes behind the last
    ({"k": entry("F32", [2], 0, 4)}, 4),  # too few for the shape
    ({"k": entry("BF16", [2], 0, 8)}, 8),  # too many
    ({"k": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, 8),
    ({"k": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}, 8),
    ({"k": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 8]}}, 8),
    ({"k": {"dtype": "F32", "shape": [2]}}, 8),
    ({"k": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8.0]}}, 8),
    ({"k": entry("F32", [2], 0, 8), "z": entry("F32", [0], 4, 4)}, 8),  # an empty one inside another
])  # fmt: skip
def test_bad_ranges(tmp_path, rows, size):
    found = problems(tmp_path, {"model.safetensors": raw({**META, **rows}, bytes(size))})
    assert {(p.kind, p.severity, p.where.file) for p in found} == {("header-ranges", "error", "model.safetensors")}


def test_bad_names_both_tensors(tmp_path):
    found = problems(tmp_path, {"model.safetensors": raw({**META, "k": entry("F32", [2], 0, 8), "v": entry("F32", [2], 0, 8)}, bytes(16))})
    assert "'v' begins at byte 0 and overlaps 'k'" in found[0].message
    assert "8 bytes after the last tensor" in found[1].message


def test_good_any_order(tmp_path):
    rows = {"b": entry("F32", [2], 8, 16), "a": entry("F32", [2], 0, 8), "empty": entry("F32", [0], 16, 16), "z": entry("F32", [0], 0, 0)}
    assert not judged(tmp_path, {"model.safetensors": raw({**META, **rows}, bytes(16))})
