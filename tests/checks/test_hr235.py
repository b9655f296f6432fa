from __future__ import annotations

import io
import zipfile

import pytest
import tiny
from weight_files import gguf, judged, one, sharded

WHOLE = tiny.safetensors(tiny.weights())


@pytest.mark.parametrize("size", [0, 1, 7, 8, 100, len(WHOLE) - 1, len(WHOLE) - 700])
def test_bad_safetensors(tmp_path, size):
    found = one(tmp_path, {"model.safetensors": WHOLE[:size]})
    assert (found.kind, found.severity, found.where.file) == ("truncated", "error", "model.safetensors")


def test_bad_says_both_numbers(tmp_path):
    tensors = {"w": tiny.bf16("w", 10)}
    found = one(tmp_path, {"adapter_model.safetensors": tiny.safetensors(tensors)[:-3]})
    assert found.message == "20 bytes of tensors are promised, 17 are there"


def test_bad_a_shard(tmp_path):
    files = sharded()
    files["model-00001-of-00002.safetensors"] = files["model-00001-of-00002.safetensors"][:-700]
    assert judged(tmp_path, files) == [("truncated", "error", "model-00001-of-00002.safetensors")]


@pytest.mark.parametrize("cut", [1, 40, 90, 200])
def test_bad_gguf(tmp_path, cut):
    data = gguf({"w": (0, [16], bytes(64))})
    assert judged(tmp_path, {"m.gguf": data[:-cut]}) == [("truncated", "error", "m.gguf")]


def test_bad_archives(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/version", "3")
        archive.writestr("a/data/0", bytes(1000))
    assert judged(tmp_path, {"weights.npz": out.getvalue()[:-60]}) == [("truncated", "error", "weights.npz")]
    assert not judged(tmp_path / "2", {"weights.npz": out.getvalue()})


def test_good_whole_files(tmp_path):
    assert not judged(tmp_path, {"m.gguf": gguf(), "a.safetensors.txt": b"", "b/model.safetensors": WHOLE})
