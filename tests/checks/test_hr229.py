from __future__ import annotations

import pytest
import tiny
from weight_files import INDEX, index_of, judged, one, sharded, shards_of, with_index


def with_total(value):
    return with_index(sharded(), lambda index: index["metadata"].update(total_size=value))


TOTAL = index_of(shards_of(tiny.weights(), 2))["metadata"]["total_size"]


def test_bad_headers_are_counted(tmp_path):
    files = sharded()
    size = sum(len(data) for path, data in files.items() if data and path.endswith(".safetensors"))
    found = one(tmp_path, with_total(size))
    assert (found.kind, found.severity, found.where.file, found.where.pointer) == (
        "index-total-size",
        "warning",
        INDEX,
        "/metadata/total_size",
    )
    assert str(size) in found.message
    assert str(TOTAL) in found.message
    assert "headers included" in found.message


@pytest.mark.parametrize("value", [0, TOTAL - 2, TOTAL * 2, -1, "12", None, True, [1], {"a": 1}, 10**30, 1e300])
def test_bad_other_totals(tmp_path, value):
    assert judged(tmp_path, with_total(value)) == [("index-total-size", "warning", INDEX)]


@pytest.mark.parametrize("value", [1, "many", 10**9])
def test_bad_parameters(tmp_path, value):
    files = with_index(sharded(), lambda index: index["metadata"].update(total_parameters=value))
    assert one(tmp_path, files).where.pointer == "/metadata/total_parameters"


@pytest.mark.parametrize("value", [TOTAL, float(TOTAL)])
def test_good_totals(tmp_path, value):
    assert not judged(tmp_path, with_total(value))


def test_good_no_total_and_no_parameters(tmp_path):
    assert not judged(tmp_path, with_index(sharded(), lambda index: index.update(metadata={})))


def test_good_parameters_of_the_model(tmp_path):
    elements = TOTAL // 2
    assert not judged(tmp_path / "1", with_index(sharded(), lambda index: index["metadata"].update(total_parameters=elements)))
    config = b'{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "quantization_config": {"quant_method": "awq"}}'
    packed = with_index(sharded(), lambda index: index["metadata"].update(total_parameters=elements * 8))
    assert not judged(tmp_path / "2", {**packed, "config.json": config})


def test_good_consequences_are_not_told(tmp_path):
    """A shard that is absent, cut or lacks a tensor is one finding, not two."""
    files = with_total(1)
    del files["model-00002-of-00002.safetensors"]
    assert judged(tmp_path, files) == [("index-missing-file", "error", INDEX)]
