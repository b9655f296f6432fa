"""A draft model in a folder of the tiny release."""

from __future__ import annotations

import tiny
from meaning import zeros


def files(block_size: int) -> dict[str, bytes]:
    config = {
        "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 16, "num_target_layers": 2, "tie_word_embeddings": True,
        "dflash_config": {"block_size": block_size, "mask_token_id": 15, "target_layer_ids": [0, 1]},
    }  # fmt: skip
    tensors = {"fc.weight": zeros("BF16", [8, 16]), "norm.weight": zeros("BF16", [8])}
    return {"draft/config.json": tiny.dumps(config), "draft/model.safetensors": tiny.safetensors(tensors)}
