from __future__ import annotations

import os

import pytest
import tiny
from weight_files import problems_of

from hubrelease import verify_release
from hubrelease.release import Release

MIB = 2**20


def judged(tmp_path, sizes, files=None):
    """The findings on sparse files of these sizes; without a provenance, so that nobody hashes them."""
    root = tiny.write(tmp_path / "release", {"README.md": tiny.CARD.encode(), **(files or {})})
    for name, size in sizes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as out:
            os.truncate(out.fileno(), size)
    return [p for p in problems_of(Release(root, verify_release.check_folder(root))) if p.code == "HR249"]


def test_bad_over_500_gb(tmp_path):
    found = judged(tmp_path, {"weights.bin": 500 * 10**9 + 1})
    assert [(p.kind, p.severity, p.where.file) for p in found] == [("file-too-large", "error", "weights.bin")]


@pytest.mark.parametrize(
    ("name", "line"),
    [("tokenizer.json", "tokenizer.json"), ("assets/a picture.png", "assets/a[[:space:]]picture.png"), ("m.gguf", "m.gguf")],
)
def test_bad_not_in_lfs(tmp_path, name, line):
    found = judged(tmp_path, {name: 10 * MIB + 1})
    assert [(p.severity, p.where.file) for p in found] == [("warning", name)]
    assert found[0].mend == f"add to .gitattributes: {line} filter=lfs diff=lfs merge=lfs -text"


@pytest.mark.parametrize("text", ["", "*.json text\n", "# tokenizer.json filter=lfs\n", "*.json filter=lfs\ntokenizer.json -filter\n", "other/*.json filter=lfs\n", "*.json filter=other\n",
                                  "/sub/tokenizer.json filter=lfs\n", "[attr]x filter=lfs\n", "token filter=lfs\n"])  # fmt: skip
def test_bad_attributes_that_do_not_cover_it(tmp_path, text):
    assert len(judged(tmp_path, {"tokenizer.json": 11 * MIB}, {".gitattributes": text.encode()})) == 1


def test_bad_own_attributes_take_the_place_of_the_default(tmp_path):
    assert len(judged(tmp_path, {"model.safetensors": 11 * MIB}, {".gitattributes": b"*.bin filter=lfs\n"})) == 1


def test_bad_a_card(tmp_path):
    found = judged(tmp_path, {"README.md": 11 * MIB})
    assert [(p.severity, p.where.file) for p in found] == [("error", "README.md")]


def test_good_sizes(tmp_path):
    names = (
        "model.safetensors",
        "a/b/c.bin",
        "saved_model/x/variables",
        "x.tar.gz",
        "events.tfevents.1",
        "model.onnx",
        "x.tar.lz",
        "spiece.model",
    )
    assert not judged(tmp_path, {**dict.fromkeys(names, 11 * MIB), "tokenizer.json": 10 * MIB})


@pytest.mark.parametrize("text", ["tokenizer.json filter=lfs diff=lfs merge=lfs -text", "*.json filter=lfs", "/tokenizer.json filter=lfs", "*.txt -filter\n** filter=lfs", "tok?nizer.* filter=lfs",
                                  '"tokenizer.json" filter=lfs', "* filter=lfs\n*.md !filter", "*.json -filter\n*.json filter=lfs\n"])  # fmt: skip
def test_good_attributes(tmp_path, text):
    assert not judged(tmp_path, {"tokenizer.json": 11 * MIB}, {".gitattributes": text.encode() + b"\n"})


def test_good_folders_and_their_own_attributes(tmp_path):
    files = {".gitattributes": b"a/**/*.png filter=lfs\nassets/** filter=lfs\n", "docs/.gitattributes": b"*.pdf filter=lfs\n"}
    assert not judged(tmp_path, {"a/b/c/x.png": 11 * MIB, "a/y.png": 11 * MIB, "assets/d/z": 11 * MIB, "docs/e/f.pdf": 11 * MIB}, files)
