from __future__ import annotations

import pytest
import tiny
from meaning import judged

FILE = "conversion_manifest.json"
WANTED = (FILE, "conversion-manifest", "error")


def rows():
    found = []
    for name, (dtype, shape, _) in tiny.weights().items():
        found.append(
            {"name": name, "file": "model.safetensors", "relation": "identical", "dtype": dtype, "shape": shape, "sha256": "a" * 64}
        )
    return found


def manifest(change=lambda rows: None):
    found = rows()
    change(found)
    return {FILE: tiny.dumps({"schemaVersion": 1, "tensors": found})}


@pytest.mark.parametrize("change", [
    lambda rows: rows[0].update(shape=[1, 2]), lambda rows: rows[0].update(dtype="F32"), lambda rows: rows[0].update(file="other.safetensors"), lambda rows: rows[0].update(name="x"), lambda rows: rows[0].update(relation="lost"),
    lambda rows: rows.pop(), lambda rows: rows.append({"name": "mtp.w", "relation": "dropped"}), lambda rows: rows.append(3), lambda rows: rows.append({}),
])  # fmt: skip
def test_bad_of_other_tensors(tmp_path, change):
    found = judged(tmp_path, manifest(change))
    assert {(file, kind, severity) for kind, severity, file in found} == {WANTED}


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"tensors": 3}', b"{"])
def test_bad_no_list(tmp_path, data):
    assert ("conversion-manifest", "error", FILE) in judged(tmp_path, {FILE: data})


def test_good_of_these_tensors(tmp_path):
    assert (
        judged(
            tmp_path, manifest(lambda rows: rows.append({"name": "mtp.w", "relation": "dropped", "reason": "the base's own, not loaded"}))
        )
        == []
    )


def test_good_none(tmp_path):
    assert judged(tmp_path) == []
