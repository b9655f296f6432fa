from __future__ import annotations

import tiny
from weight_files import INDEX, judged, one, sharded, shards_of, with_index

SECOND = "model-00002-of-00002.safetensors"


def test_bad_a_mapped_tensor_is_in_no_file(tmp_path):
    held = shards_of(tiny.weights(), 2)[SECOND]
    held.pop("model.norm.weight")
    found = one(tmp_path, {**sharded(), SECOND: tiny.safetensors(held)})
    assert (found.kind, found.severity, found.where.file, found.where.tensor) == (
        "index-tensor-absent",
        "error",
        SECOND,
        "model.norm.weight",
    )


def test_bad_a_tensor_lies_in_another_file(tmp_path):
    found = one(
        tmp_path, with_index(sharded(), lambda index: index["weight_map"].update({"model.norm.weight": "model-00001-of-00002.safetensors"}))
    )
    assert (found.kind, found.where.file) == ("index-tensor-absent", "model-00001-of-00002.safetensors")
    assert "lies in model-00002-of-00002.safetensors" in found.message


def test_bad_all_tensors_of_a_shard_are_others(tmp_path):
    other = {f"other.{n}.weight": tiny.bf16(str(n), 4) for n in range(10)}
    found = judged(tmp_path, {**sharded(), SECOND: tiny.safetensors(other)})
    assert found == [("index-tensor-absent", "error", SECOND), ("index-tensor-absent", "warning", SECOND)]


def test_bad_a_tensor_that_the_index_leaves_out(tmp_path):
    found = one(tmp_path, with_index(sharded(), lambda index: index["weight_map"].pop("model.norm.weight")))
    assert (found.kind, found.severity, found.where.file) == ("index-tensor-absent", "warning", SECOND)


def test_bad_in_a_folder_below(tmp_path):
    files = with_index(sharded(folder="draft/"), lambda index: index["weight_map"].update({"x": SECOND}), f"draft/{INDEX}")
    assert judged(tmp_path, files) == [("index-tensor-absent", "error", f"draft/{SECOND}")]


def test_good_an_index_over_one_file(tmp_path):
    """mlx_lm writes one beside model.safetensors."""
    weights = tiny.weights()
    index = {
        "metadata": {"total_size": sum(len(t[2]) for t in weights.values())},
        "weight_map": dict.fromkeys(weights, "model.safetensors"),
    }
    assert not judged(tmp_path, {"model.safetensors": tiny.safetensors(weights, {"format": "mlx"}), INDEX: tiny.dumps(index)})
