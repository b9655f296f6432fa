from __future__ import annotations

import pytest
import tiny
from weight_files import judged, one


def with_mask(data: bytes):
    return {"model.safetensors": tiny.safetensors({**tiny.weights(), "model.mask": ("BOOL", [len(data)], data)})}


@pytest.mark.parametrize(("data", "count"), [(b"\2", 1), (b"\0\1\xff\2", 2), (bytes(1000) + b"\x80", 1)])
def test_bad_other_bytes(tmp_path, data, count):
    found = one(tmp_path, with_mask(data))
    assert (found.kind, found.severity, found.where.file, found.where.tensor) == ("bool-bytes", "error", "model.safetensors", "model.mask")
    assert found.message.startswith(f"{count} of {len(data)} bytes")


def test_bad_large_masks_with_deep(tmp_path):
    data = bytes(2**20) + b"\2"
    assert not judged(tmp_path / "1", with_mask(data))
    assert judged(tmp_path / "2", with_mask(data), deep=True) == [("bool-bytes", "error", "model.safetensors")]


def test_good_masks(tmp_path):
    assert not judged(tmp_path, with_mask(b"\0\1\1\0"))
    assert not judged(tmp_path / "2", with_mask(b""))
