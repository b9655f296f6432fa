from __future__ import annotations

import pytest
import tiny
from weight_files import judged, one, problems, problems_of

from hubrelease import verify_release
from hubrelease.release import Release


def pointer(size: int = 4_000_000_000) -> bytes:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize {size}\n".encode()


@pytest.mark.parametrize(
    "path", ["model.safetensors", "adapter_config.json", "tokenizer.json", "model-Q4_K_M.gguf", "pytorch_model.bin", "a/b.png"]
)
@pytest.mark.parametrize("bare", [False, True])
def test_bad_a_pointer_stands_in_place_of_a_file(tmp_path, path, bare):
    found = problems(tmp_path, {path: pointer()}, bare=bare)
    assert [(p.kind, p.severity, p.where.file, p.undecided) for p in found] == [("lfs-pointer", "error", path, False)]
    assert "4000000000 bytes promised" in found[0].message


def test_bad_a_pointer_that_nothing_lists(tmp_path):
    root = tiny.release(tmp_path / "release")
    (root / "model.gguf").write_bytes(pointer())
    found = problems_of(Release(root, verify_release.check_folder(root)))
    assert [(p.kind, p.where.file) for p in found] == [("lfs-pointer", "model.gguf")]


def test_bad_the_index_is_a_pointer(tmp_path):
    assert one(tmp_path, {"model.safetensors.index.json": pointer()}).kind == "lfs-pointer"


def test_good_texts_about_pointers(tmp_path):
    assert not judged(
        tmp_path, {"docs/lfs.md": b"# LFS\n\n" + pointer(), "a.txt": b"version https://git-lfs.github.com/spec/v1\n", "empty": b""}
    )
