from __future__ import annotations

import pytest
import tiny
from weight_files import INDEX, index_of, judged, one, sharded, shards_of, with_index

KIND = "shard-set"


def without_index(count: int = 3):
    return {path: data for path, data in sharded(count=count).items() if path != INDEX}


def test_bad_no_index(tmp_path):
    found = one(tmp_path, without_index())
    assert (found.kind, found.severity, found.where.file) == (KIND, "error", "model-00001-of-00003.safetensors")
    assert INDEX in found.message


def test_bad_a_gap_without_an_index(tmp_path):
    files = without_index()
    del files["model-00002-of-00003.safetensors"]
    found = judged(tmp_path, files)
    assert found == [(KIND, "error", "model-00001-of-00003.safetensors")] * 2


def test_bad_a_gap_beside_a_whole_index(tmp_path):
    names = ("model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors")
    shards = dict(zip(names, shards_of(tiny.weights(), 2).values(), strict=True))
    files = {file: tiny.safetensors(held) for file, held in shards.items()}
    found = judged(tmp_path, {"model.safetensors": None, **files, INDEX: tiny.dumps(index_of(shards))})
    assert found == [(KIND, "warning", names[0])]


def test_bad_two_totals_in_one_index(tmp_path):
    names = ("model-00001-of-00002.safetensors", "model-00002-of-00003.safetensors")
    shards = dict(zip(names, shards_of(tiny.weights(), 2).values(), strict=True))
    files = {file: tiny.safetensors(held) for file, held in shards.items()}
    found = judged(tmp_path, {"model.safetensors": None, **files, INDEX: tiny.dumps(index_of(shards))})
    assert (KIND, "warning", INDEX) in found


def test_bad_a_single_file_over_other_tensors(tmp_path):
    other = tiny.safetensors({"visual.blocks.0.weight": tiny.bf16("v", 4)})
    assert judged(tmp_path, {**sharded(), "model.safetensors": other}) == [(KIND, "error", "model.safetensors")]


def test_bad_names_that_promise_a_million(tmp_path):
    files = {f"x{n}-00001-of-99999999.safetensors": tiny.safetensors({f"w{n}": tiny.bf16("w", 1)}) for n in range(50)}
    judged(tmp_path, {**files, "model.safetensors": None})  # ends at once


@pytest.mark.parametrize("count", [1, 2, 5])
def test_good_whole_sets(tmp_path, count):
    assert not judged(tmp_path, sharded(count=count))


def test_good_other_spellings(tmp_path):
    """Qwen writes model.safetensors-00001-of-00002.safetensors, some tools count from 0."""
    for number, form in enumerate(("model.safetensors-{:05d}-of-00002.safetensors", "model-{:05d}-of-000002.safetensors")):
        shards = {form.format(n): held for n, held in enumerate(shards_of(tiny.weights(), 2).values(), 1)}
        files = {file: tiny.safetensors(held) for file, held in shards.items()}
        assert not judged(tmp_path / str(number), {"model.safetensors": None, **files, INDEX: tiny.dumps(index_of(shards))})


def test_good_shards_beside_an_mtp_file_of_the_index(tmp_path):
    shards = {**shards_of(tiny.weights(), 2), "model-mtp.safetensors": {"mtp.fc.weight": tiny.bf16("m", 4)}}
    files = {file: tiny.safetensors(held) for file, held in shards.items()}
    assert not judged(tmp_path, {"model.safetensors": None, **files, INDEX: tiny.dumps(index_of(shards))})


def test_good_a_missing_shard_is_told_of_once(tmp_path):
    files = sharded(count=3)
    del files["model-00002-of-00003.safetensors"]
    assert judged(tmp_path, files) == [("index-missing-file", "error", INDEX)]


def test_good_nothing_for_the_index_of_nothing(tmp_path):
    assert not judged(tmp_path, with_index(sharded(), lambda index: None))
