from __future__ import annotations

import pytest
import tiny
from meaning import folder, judged, kinds, problems_of, zeros

CONFIG = {
    "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 16, "num_target_layers": 2,
    "tie_word_embeddings": True, "dflash_config": {"block_size": 16, "mask_token_id": 15, "target_layer_ids": [0, 1]},
}  # fmt: skip


def draft(columns=16, **keys):
    config = {**CONFIG, **keys}
    tensors = {
        "fc.weight": zeros("BF16", [8, columns]),
        "hidden_norm.weight": zeros("BF16", [8]),
        "layers.0.input_layernorm.weight": zeros("BF16", [8]),
    }
    return {"config.json": tiny.dumps({k: v for k, v in config.items() if v is not ...}), "model.safetensors": tiny.safetensors(tensors)}


def nested(**keys):
    return {"dflash_config": {**CONFIG["dflash_config"], **keys}}


@pytest.mark.parametrize("keys", [
    nested(target_layer_ids=[0, 2]), nested(target_layer_ids=[0, 0]), nested(target_layer_ids=[-1, 0]), nested(target_layer_ids=[]), nested(target_layer_ids="0,1"), nested(mask_token_id=16),
    nested(block_size=0), nested(target_layer_ids=[0]), {"dflash_config": ..., "block_size": 8, "mask_token_id": 20}, {"target_hidden_size": 4}, {"columns": 24},
])  # fmt: skip
def test_bad_fields_that_do_not_fit(tmp_path, keys):
    assert set(kinds(problems_of(folder(tmp_path, draft(**keys))))) == {("draft-mismatch", "error", "config.json")}


@pytest.mark.parametrize("keys", [{"vocab_size": 32}, {"num_target_layers": 4}, {"hidden_size": 4, "columns": 8}])
def test_bad_against_the_target_beside_it(tmp_path, keys):
    files = {f"draft/{path}": data for path, data in draft(**keys).items()}
    assert set(judged(tmp_path, files)) == {("draft-mismatch", "error", "draft/config.json")}


def test_good_alone_and_beside_its_target(tmp_path):
    assert problems_of(folder(tmp_path, draft())) == []
    assert judged(tmp_path, {f"draft/{path}": data for path, data in draft().items()}) == []


def test_good_the_earlier_layout(tmp_path):
    assert problems_of(folder(tmp_path, draft(dflash_config=..., block_size=8, mask_token_id=14, target_layer_ids=[0, 1]))) == []


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_good_other_forms(tmp_path, value):
    assert problems_of(folder(tmp_path, draft(dflash_config=value))) == []
