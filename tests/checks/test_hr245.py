from __future__ import annotations

import collections
import gzip
import io
import json
import pickle
import zipfile

import pytest
from weight_files import judged, one

VALUE = {"learning_rate": 1e-5, "note": collections.OrderedDict(a=1), "list": [1, 2.5, None, True, "x", (1,), b"y"]}


def torch_file(value: object = VALUE) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, 2))
        archive.writestr("archive/data/0", bytes(64))
    return out.getvalue()


def npy(descr: str, body: bytes) -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + body


@pytest.mark.parametrize("name", ["training_args.bin", "optimizer.pt", "notes.txt", "data", "a/b.dat", "model.safetensors.bak"])
@pytest.mark.parametrize("protocol", range(6))
def test_bad_by_content_whatever_the_name(tmp_path, name, protocol):
    found = one(tmp_path, {name: pickle.dumps(VALUE, protocol)})
    assert (found.kind, found.severity, found.where.file) == ("pickle", "warning", name)


@pytest.mark.parametrize("data", [
    torch_file(), gzip.compress(pickle.dumps(VALUE)), npy("'|O'", pickle.dumps(VALUE)), npy("[('a', '<f4'), ('b', '|O')]", pickle.dumps(VALUE)),
    pickle.dumps(119547037146038801333356, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + pickle.dumps(VALUE, 2) + bytes(100),
    b"\x89HDF\r\n\x1a\n" + bytes(500) + b'{"class_name": "Lambda", "config": {}}',
], ids=["torch", "gzip", "npy", "structured npy", "bare torch", "keras"])  # fmt: skip
def test_bad_families(tmp_path, data):
    assert judged(tmp_path, {"weights.x": data}) == [("pickle", "warning", "weights.x")]


def test_bad_training_state_is_told_of_once(tmp_path):
    found = one(tmp_path, {"optimizer.pt": torch_file()})
    assert found.kind == "pickle"
    assert "training state" in found.message


def test_bad_in_the_place_of_safetensors(tmp_path):
    assert ("pickle", "warning", "model.safetensors") in judged(tmp_path, {"model.safetensors": torch_file()})


@pytest.mark.parametrize("data", [
    b"", b".", b"(", b"]", b"I1\n.", b"N.", b"(c) 2026 Example\nAll rights reserved.\n", b"{}", b"[1]", b"]\n", b"cat\ndog\n.", b"hello", b"\x80\x02", b"\x80\x04" + bytes(100),
    b"\x89PNG\r\n\x1a\n" + bytes(100), npy("'<f4'", bytes(4)), npy("[('O', '<f4')]", bytes(4)), gzip.compress(b"text" * 1000), json.dumps(VALUE, default=str).encode(),
    b"# A heading\n(see below)\n", bytes(1000), b"\n\x0e\n\x05<unk>",
], ids=range(22))  # fmt: skip
def test_good_other_files(tmp_path, data):
    assert not judged(tmp_path, {"a.bin": data, "b.txt": data, "c/d": data})


def test_good_archives_without_pickles(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.npy", npy("'<f4'", bytes(4)))
        archive.writestr("b.json", "{}")
    assert not judged(tmp_path, {"arrays.npz": out.getvalue()})
