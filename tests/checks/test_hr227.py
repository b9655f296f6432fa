from __future__ import annotations

import tiny
from weight_files import INDEX, index_of, judged, one, problems_of, sharded, shards_of, with_index

from hubrelease import verify_release
from hubrelease.release import Release


def test_bad_a_shard_is_absent(tmp_path):
    files = sharded()
    del files["model-00002-of-00002.safetensors"]
    found = one(tmp_path, files)
    assert (found.kind, found.severity, found.where.file) == ("index-missing-file", "error", INDEX)
    assert found.message == "names model-00002-of-00002.safetensors (10 tensors), which is not in the release"


def test_bad_every_shard_is_absent(tmp_path):
    files = {INDEX: sharded()[INDEX], "model.safetensors": None}
    assert judged(tmp_path, files) == [("index-missing-file", "error", INDEX)] * 2


def test_bad_in_a_folder_below(tmp_path):
    files = sharded(folder="draft/")
    del files["draft/model-00001-of-00002.safetensors"]
    assert judged(tmp_path, files) == [("index-missing-file", "error", f"draft/{INDEX}")]


def test_bad_an_index_of_another_framework(tmp_path):
    index = tiny.dumps(index_of({"pytorch_model-00001-of-00002.bin": {"w": tiny.bf16("w", 2)}}))
    alone = {"pytorch_model.bin.index.json": index, "model.safetensors": None}
    assert judged(tmp_path / "1", alone) == [("index-missing-file", "error", "pytorch_model.bin.index.json")]
    beside = {"pytorch_model.bin.index.json": index}  # left over from before the conversion: no loader gets to it
    assert judged(tmp_path / "2", beside) == [("index-missing-file", "warning", "pytorch_model.bin.index.json")]


def test_bad_a_thousand_rows_are_told_of_in_twenty(tmp_path):
    files = with_index(sharded(), lambda index: index["weight_map"].update({f"x{n}": f"gone-{n}.safetensors" for n in range(1000)}))
    found = [row for row in judged(tmp_path, files) if row[0] == "index-missing-file"]
    assert len(found) == 21


def test_good_whole_sets(tmp_path):
    assert not judged(tmp_path / "1", sharded())
    assert not judged(tmp_path / "2", sharded(count=5, folder="draft/"))


def test_good_a_partial_download(tmp_path):
    root = tiny.release(tmp_path / "release", sharded())
    (root / "model-00002-of-00002.safetensors").unlink()
    assert not problems_of(Release(root, verify_release.check_folder(root)))


def test_good_names_of_six_digits(tmp_path):
    shards = {file.replace("-of-00002", "-of-000002"): held for file, held in shards_of(tiny.weights(), 2).items()}
    files = {file: tiny.safetensors(held) for file, held in shards.items()}
    assert not judged(tmp_path, {**files, INDEX: tiny.dumps(index_of(shards)), "model.safetensors": None})
