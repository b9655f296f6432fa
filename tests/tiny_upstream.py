"""The model of tests/tiny.py as an upstream publishes it: two shards with their index, side files, licence, card.

`tokenizer.json` and the index are larger than LARGE_BYTES, so a Hub made with `Hub(large_bytes=LARGE_BYTES)` keeps them
as large files though no pattern of .gitattributes names them; `config.json` and the rest stay regular files.
"""

from collections.abc import Mapping

import tiny

LARGE_BYTES = 500
CARD = b"---\nlicense: apache-2.0\n---\n# A tiny base\n"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
INDEX = "model.safetensors.index.json"
Shape = tuple[int, ...]


def shard(tensors: Mapping[str, Shape], seed: str = "") -> bytes:
    """A safetensors file of BF16 tensors in the order given; another seed, other values."""
    return tiny.safetensors({name: tiny.bf16(seed + name, *shape) for name, shape in tensors.items()})


def weights(seed: str = "") -> dict[str, bytes]:
    """The shards and their index."""
    shapes = {name: tuple(shape) for name, (_, shape, _) in tiny.weights().items()}
    halves = (list(shapes)[:9], list(shapes)[9:])
    shards = {file: shard({name: shapes[name] for name in half}, seed) for file, half in zip(SHARDS, halves, strict=True)}
    rows = {name: file for file, half in zip(SHARDS, halves, strict=True) for name in half}
    total = sum(len(data) for _, _, data in tiny.weights().values())
    return {**shards, INDEX: tiny.dumps({"metadata": {"total_size": total}, "weight_map": rows})}


def base(seed: str = "") -> dict[str, bytes]:
    """Every file of the model."""
    side_files = {path: data for path, data in tiny.model().items() if path not in ("model.safetensors", tiny.VERIFIER)}
    return {**side_files, **weights(seed), "README.md": CARD}


def adapter(base_model: str = "/home/trainer/models/base") -> dict[str, bytes]:
    """A PEFT adapter of it, with the paths that training leaves behind."""
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base_model, "revision": None,
              "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}  # fmt: skip
    at = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    tensors = {f"{at}A.weight": (2, tiny.HIDDEN), f"{at}B.weight": (tiny.HIDDEN, 2)}
    return {
        "adapter_config.json": tiny.dumps(config),
        "adapter_model.safetensors": shard(tensors),
        "README.md": f"---\nbase_model: {base_model}\nlibrary_name: peft\n---\n".encode(),
    }
