from __future__ import annotations

import pytest
from weight_files import gguf, judged, one


def parts(count: int = 3, total: int | None = None, name: str = "m-{:05d}-of-{:05d}.gguf"):
    held = [{f"blk.{n}.weight": (0, [4], bytes(16))} for n in range(count)]
    return {name.format(n + 1, count): gguf(tensors, split=(n, count, count if total is None else total)) for n, tensors in enumerate(held)}


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_bad_a_part_is_absent(tmp_path, gone):
    files = parts()
    del files[f"m-0000{gone}-of-00003.gguf"]
    found = one(tmp_path, files)
    assert (found.kind, found.severity) == ("gguf-split", "error")
    assert f"m-0000{gone}-of-00003.gguf is not in the release" in found.message


def test_bad_numbers_disagree_with_names(tmp_path):
    files = parts()
    files["m-00001-of-00003.gguf"], files["m-00002-of-00003.gguf"] = files["m-00002-of-00003.gguf"], files["m-00001-of-00003.gguf"]
    assert judged(tmp_path, files) == [("gguf-split", "error", f"m-0000{n}-of-00003.gguf") for n in (1, 2)]


def test_bad_no_keys(tmp_path):
    files = {"m-00001-of-00002.gguf": gguf({"a": (0, [4], bytes(16))}), "m-00002-of-00002.gguf": gguf({"b": (0, [4], bytes(16))})}
    assert {row[0] for row in judged(tmp_path, files)} == {"gguf-split"}


def test_bad_count_of_tensors(tmp_path):
    assert "the files hold 3 tensors" in one(tmp_path, parts(total=4)).message


def test_bad_a_part_under_another_name(tmp_path):
    files = {"renamed.gguf": parts()["m-00001-of-00003.gguf"]}
    assert "is one of 3 files by split.count" in one(tmp_path, files).message


def test_bad_of_millions(tmp_path):
    assert judged(tmp_path, {"m-00001-of-99999999.gguf": gguf()}) == [("gguf-split", "error", "m-00001-of-99999999.gguf")]


def test_good_sets(tmp_path):
    assert not judged(tmp_path, {**parts(), **{f"Q4/{path}": data for path, data in parts(2).items()}, "m-00001-of-00001.gguf": gguf()})
