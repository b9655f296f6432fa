from __future__ import annotations

import pytest
import tiny
from weight_files import INDEX, index_of, judged, one, sharded, shards_of

KIND = "duplicate-weight-set"


@pytest.mark.parametrize(
    "name", ["consolidated.safetensors", "model-bf16.safetensors", "pytorch_model.safetensors", "model.fp16.safetensors"]
)
def test_bad_a_whole_set_beside_the_shards(tmp_path, name):
    found = one(tmp_path, {**sharded(), name: tiny.safetensors(tiny.weights())})
    assert (found.kind, found.severity, found.where.file) == (KIND, "warning", name)


def test_bad_beside_a_single_file(tmp_path):
    assert judged(tmp_path, {"consolidated.safetensors": tiny.safetensors(tiny.weights())}) == [
        (KIND, "warning", "consolidated.safetensors")
    ]


def test_bad_the_single_file_beside_the_shards(tmp_path):
    files = {**sharded(), "model.safetensors": tiny.safetensors(tiny.weights())}
    assert judged(tmp_path, files) == [(KIND, "warning", "model.safetensors")]


def test_bad_a_quantised_copy(tmp_path):
    packed = {}
    for name, tensor in tiny.weights().items():
        if len(tensor[1]) == 2:
            packed |= {
                name: ("U32", [tensor[1][0], 1], bytes(4 * tensor[1][0])),
                name.replace(".weight", ".scales"): tiny.bf16(name, tensor[1][0]),
            }
    assert judged(tmp_path, {**sharded(), "model-4bit.safetensors": tiny.safetensors(packed)}) == [
        (KIND, "warning", "model-4bit.safetensors")
    ]


def test_bad_shards_of_another_save(tmp_path):
    shards = shards_of(tiny.weights(), 3)
    files = {**sharded(), **{file: tiny.safetensors(held) for file, held in shards.items()}}
    found = [row for row in judged(tmp_path, files) if row[0] == KIND]
    assert found == [(KIND, "warning", "model-00001-of-00003.safetensors")]


def test_bad_consolidated_under_other_names(tmp_path):
    other = {f"layers.{n}.attention.wq.weight": tensor for n, tensor in enumerate(tiny.weights().values())}
    assert judged(tmp_path, {**sharded(), "consolidated.safetensors": tiny.safetensors(other)}) == [
        (KIND, "warning", "consolidated.safetensors")
    ]


def test_bad_a_second_set_with_an_index_of_its_own(tmp_path):
    shards = {file.replace("model-", "model-8bit-"): held for file, held in shards_of(tiny.weights(), 2).items()}
    files = {
        **sharded(),
        **{file: tiny.safetensors(held) for file, held in shards.items()},
        "model-8bit.safetensors.index.json": tiny.dumps(index_of(shards)),
    }
    assert judged(tmp_path, files) == [(KIND, "warning", "model-8bit-00001-of-00002.safetensors")]


def test_good_when_declared(tmp_path):
    spec = {"weights": {"format": "bf16", "auxiliary": [{"path": "consolidated.safetensors", "purpose": "for mistral-inference"}]}}
    assert not judged(tmp_path, {**sharded(), "consolidated.safetensors": tiny.safetensors(tiny.weights())}, spec)


def test_good_a_pipeline_with_variants(tmp_path):
    files = {f"{folder}/{path}": data for folder in ("text_encoder", "text_encoder_2") for path, data in sharded().items() if data}
    variant = {"text_encoder/model.fp16.safetensors": tiny.safetensors(tiny.weights()), "model_index.json": b'{"_class_name": "X"}'}
    assert not judged(tmp_path, {"model.safetensors": None, "config.json": None, **files, **variant})


def test_good_mistral_files_alone(tmp_path):
    shards = {"consolidated-00001-of-00001.safetensors": {f"layers.{n}.wq.weight": t for n, t in enumerate(tiny.weights().values())}}
    files = {file: tiny.safetensors(held) for file, held in shards.items()}
    index = {f"consolidated.{INDEX.removeprefix('model.')}": tiny.dumps(index_of(shards))}
    assert not judged(tmp_path, {"model.safetensors": None, "config.json": None, "params.json": b"{}", **files, **index})
