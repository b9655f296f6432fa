from __future__ import annotations

import tiny
from weight_files import gguf, judged, one, problems, sharded, shards_of, with_index

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
NAME = "model.norm.weight"


def with_copy(tensor):
    held = {**shards_of(tiny.weights(), 2)[FIRST], NAME: tensor}
    return {**sharded(), FIRST: tiny.safetensors(held)}


def only(found):
    return [p for p in found if p.kind == "duplicate-tensor"]


def test_bad_an_older_copy_is_left_in_a_shard(tmp_path):
    found = one(tmp_path, with_copy(tiny.bf16("older", tiny.HIDDEN)))
    assert (found.kind, found.severity, found.where.file, found.where.tensor) == ("duplicate-tensor", "error", FIRST, NAME)
    assert SECOND in found.message
    assert "the bytes differ" in found.message


def test_bad_the_same_bytes_twice(tmp_path):
    found = one(tmp_path, with_copy(tiny.weights()[NAME]))
    assert (found.severity, found.where.file) == ("error", FIRST)
    assert "the bytes are the same" in found.message


def test_bad_another_shape(tmp_path):
    assert "the bytes differ" in one(tmp_path, with_copy(tiny.bf16("x", 3))).message


def test_bad_a_whole_shard_twice(tmp_path):
    shards = shards_of(tiny.weights(), 2)
    found = only(problems(tmp_path, {**sharded(), FIRST: tiny.safetensors({**shards[FIRST], **shards[SECOND]})}))
    assert len(found) == 1
    assert found[0].where.file == FIRST
    assert "and 7 more" in found[0].message


def test_bad_in_shards_without_an_index(tmp_path):
    files = {path: data for path, data in with_copy(tiny.weights()[NAME]).items() if not path.endswith(".json")}
    assert only(problems(tmp_path, files))


def test_bad_in_two_parts_of_a_gguf(tmp_path):
    tensors = {"token_embd.weight": (0, [4], bytes(16))}
    files = {f"m-0000{n}-of-00002.gguf": gguf(tensors, split=(n - 1, 2, 2)) for n in (1, 2)}
    assert judged(tmp_path, files) == [("duplicate-tensor", "error", "m-00002-of-00002.gguf")]


def test_good_files_of_other_sets(tmp_path):
    """An adapter, a draft with its own embeddings, and a scale file may use the same names."""
    draft = tiny.safetensors({"model.norm.weight": tiny.bf16("d", 8)})
    assert not judged(tmp_path, {**sharded(), "draft/model.safetensors": draft, "draft/config.json": b'{"model_type": "qwen3"}'})


def test_good_each_tensor_once(tmp_path):
    assert not judged(tmp_path, with_index(sharded(count=5), lambda index: None))
