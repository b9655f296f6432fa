"""A tiny base model as an upstream would publish it: two shards with their index, side files, licence; a few kB.

`tokenizer.json` is larger than LARGE_BYTES, so a Hub made with `Hub(large_bytes=LARGE_BYTES)` keeps it as a large file
though no pattern of .gitattributes names it.
"""

import json
import random
import struct
from collections.abc import Mapping

LARGE_BYTES = 2000
LICENCE = b"Apache License\nVersion 2.0, January 2004\n"
CARD = b"---\nlicense: apache-2.0\n---\n# A tiny base\n"
Shape = tuple[int, ...]
TENSORS: dict[str, dict[str, Shape]] = {
    "model-00001-of-00002.safetensors": {"model.embed_tokens.weight": (8, 4), "model.layers.0.mlp.down_proj.weight": (4, 6)},
    "model-00002-of-00002.safetensors": {"model.norm.weight": (4,), "lm_head.weight": (8, 4)},
}


def shard(tensors: Mapping[str, Shape], seed: int = 0, metadata: Mapping[str, str] | None = None) -> bytes:
    """A safetensors file of BF16 tensors of random bytes, in the order given."""
    header: dict[str, object] = {"__metadata__": dict(metadata or {"format": "pt"})}
    buffer, source = b"", random.Random(f"{seed}{list(tensors)}")
    for name, shape in tensors.items():
        size = 2
        for dimension in shape:
            size *= dimension
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [len(buffer), len(buffer) + size]}
        buffer += source.randbytes(size)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + buffer


def json_bytes(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


def weights(seed: int = 0) -> dict[str, bytes]:
    """The shards and their index."""
    files = {name: shard(tensors, seed) for name, tensors in TENSORS.items()}
    rows = {tensor: name for name, tensors in TENSORS.items() for tensor in tensors}
    size = sum(len(data) for data in files.values())
    return {**files, "model.safetensors.index.json": json_bytes({"metadata": {"total_size": size}, "weight_map": rows})}


def base(seed: int = 0) -> dict[str, bytes]:
    """Every file of the model."""
    vocabulary = {f"word{n:04d}": n for n in range(200)}
    return {
        **weights(seed),
        "config.json": json_bytes({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 8, "hidden_size": 4}),
        "generation_config.json": json_bytes({"eos_token_id": 1}),
        "tokenizer.json": json_bytes({"version": "1.0", "model": {"type": "WordLevel", "vocab": vocabulary}}),
        "tokenizer_config.json": json_bytes({"tokenizer_class": "PreTrainedTokenizerFast"}),
        "chat_template.jinja": b"{% for m in messages %}{{ m.content }}{% endfor %}\n",
        "LICENSE": LICENCE,
        "README.md": CARD,
    }
