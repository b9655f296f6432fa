"""Tiny releases for tests, made with the standard library alone: nothing here asks hubrelease how a release is written.

    root = tiny.release(tmp_path / "r")                  a whole, good release of about 10 kB
    root = tiny.release(tmp_path / "r", {"a.txt": b""})  the same with one more listed file (None leaves one out)
    files = tiny.model()                                 its files but the provenance, {path: bytes}: spoil, then `write`
    tiny.seal(root)                                      lists what is in a folder now: MODEL_PROVENANCE.json by contract.md 3
    tiny.edit(root, lambda s: s["subject"].pop())        changes the statement of a sealed folder
    tiny.safetensors({"w": ("F32", [2], bytes(8))})      the bytes of one container

The model is a llama of two layers that hangs together (shapes, vocabulary, special tokens, card), so that a check which
finds something in it has found a fault of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

NAME = "example-org/tiny-llama"
PROVENANCE, SIGNATURE = "MODEL_PROVENANCE.json", "model.sig"
VERIFIER = "runtime/verify_release.py"
VERIFIER_SOURCE = Path(__file__).parent.parent / "src" / "hubrelease" / "verify_release.py"
VOCAB, HIDDEN, INTER, LAYERS, HEADS = 16, 8, 16, 2, 2
Tensor = tuple[str, list[int], bytes]

CARD = f"""---
license: apache-2.0
base_model: example-org/tiny-base
base_model_relation: finetune
pipeline_tag: text-generation
library_name: transformers
---

# {NAME.split("/")[1]}

A tiny model for tests.
"""
CHAT_TEMPLATE = """{% for message in messages %}<s>{{ message.role }}: {{ message.content }}</s>
{% endfor %}{% if add_generation_prompt %}<s>assistant: {% endif %}
"""


def dumps(value: object) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------------------------------------------------- the model


def safetensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """A safetensors container; `metadata` defaults to what save_pretrained writes."""
    header: dict[str, Any] = {"__metadata__": dict(metadata if metadata is not None else {"format": "pt"})}
    end = 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + b"".join(data for _, _, data in tensors.values())


def bf16(name: str, *shape: int) -> Tensor:
    """Finite values below 1 that differ from tensor to tensor and are the same on every run."""
    count, stream = 1, b""
    for length in shape:
        count *= length
    while len(stream) < 2 * count:
        stream += hashlib.sha256(f"{name} {len(stream)}".encode()).digest()
    values = (0x3C00 | low | (sign & 0x80) << 8 for low, sign in zip(stream[::2], stream[1::2], strict=True))
    return "BF16", list(shape), b"".join(struct.pack("<H", value) for value in values)[: 2 * count]


def weights() -> dict[str, Tensor]:
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCAB, HIDDEN)}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        shapes |= {f"{at}self_attn.{p}_proj.weight": (HIDDEN, HIDDEN) for p in "qkvo"}
        shapes |= {f"{at}mlp.{p}_proj.weight": (INTER, HIDDEN) for p in ("gate", "up")}
        shapes[f"{at}mlp.down_proj.weight"] = (HIDDEN, INTER)
        shapes |= {f"{at}{p}_layernorm.weight": (HIDDEN,) for p in ("input", "post_attention")}
    shapes |= {"model.norm.weight": (HIDDEN,), "lm_head.weight": (VOCAB, HIDDEN)}
    return {name: bf16(name, *shape) for name, shape in shapes.items()}


def model() -> dict[str, bytes]:
    """The files of a release, the stand-alone verifier among them, but no provenance."""
    tokens = ["<unk>", "<s>", "</s>", *(f"tok{n}" for n in range(3, VOCAB))]
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INTER,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "vocab_size": VOCAB,
        "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    added = [{"id": number, "content": token, "special": True} for number, token in enumerate(tokens[:3])]
    vocabulary = {"type": "WordLevel", "vocab": {token: n for n, token in enumerate(tokens)}, "unk_token": "<unk>"}
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return {
        "config.json": dumps(config),
        "generation_config.json": dumps({"bos_token_id": 1, "eos_token_id": 2}),
        "tokenizer.json": dumps({"version": "1.0", "added_tokens": added, "model": vocabulary}),
        "tokenizer_config.json": dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special, "model_max_length": 128}),
        "chat_template.jinja": CHAT_TEMPLATE.encode(),
        "model.safetensors": safetensors(weights()),
        "LICENSE": b"Example licence text for a test release. Apache License 2.0.\n",
        "docs/guide.txt": b"A text that no loader\nand no check of weights looks at.\n",
        "README.md": CARD.encode(),
        VERIFIER: VERIFIER_SOURCE.read_bytes(),
    }


# -------------------------------------------------------------------------------------------------------- the release


def write(root: Path, files: Mapping[str, bytes]) -> Path:
    """Writes plain files below `root`; names may be any that the file system takes."""
    for name, data in files.items():
        path = os.path.join(os.fsencode(root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)
    root.mkdir(parents=True, exist_ok=True)
    return root


def subject(name: str, data: bytes, role: str = "other") -> dict[str, Any]:
    """One row of a statement."""
    return {"name": name, "digest": {"sha256": sha256(data)}, "annotations": {"sizeBytes": len(data), "role": role}}


def statement(files: Mapping[str, bytes], spec: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The statement of contract.md 3 over these files; `spec` adds to the embedded release.yaml."""
    listed = {name: data for name, data in files.items() if name not in (PROVENANCE, SIGNATURE)}
    asked = {"schema": 1, "name": NAME, "version": "1.0.0", "license": "apache-2.0", "weights": {"format": "bf16"}, **(spec or {})}
    base = {"name": "base_model", "uri": "hf://example-org/tiny-base", "digest": {"gitCommit": "0123456789" * 4}}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [subject(name, listed[name], role_of(name)) for name in sorted(listed, key=str.encode)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:hubrelease:release:v1",
                "externalParameters": {"spec": asked},
                "resolvedDependencies": [base | {"annotations": {"license": "apache-2.0"}}],
            },
            "runDetails": {"builder": {"id": "urn:hubrelease", "version": {"hubrelease": "0.1.0"}}},
        },
    }


def role_of(name: str) -> str:
    ends = {".safetensors": "weights", "README.md": "card", "LICENSE": "licence"}
    found = next((role for end, role in ends.items() if name.endswith(end)), None)
    if found or name.startswith("runtime/"):
        return found or "runtime"
    return "tokenizer" if name.startswith(("tokenizer", "chat_template")) else "config" if name.endswith(".json") else "other"


def files_of(root: Path) -> dict[str, bytes]:
    """{path: bytes} of the regular files of a folder, links left out; .git and download caches are no part of a release."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", ".cache")]
        paths = [Path(folder, name) for name in names]
        found |= {p.relative_to(root).as_posix(): p.read_bytes() for p in paths if p.is_file() and not p.is_symlink()}
    return found


def seal(root: Path, spec: Mapping[str, Any] | None = None) -> Path:
    """Writes MODEL_PROVENANCE.json over what is in `root` now."""
    (root / PROVENANCE).write_bytes(dumps(statement(files_of(root), spec)))
    return root


def release(root: Path, changes: Mapping[str, bytes | None] | None = None, spec: Mapping[str, Any] | None = None) -> Path:
    """A whole release at `root`: `model()` with `changes` (None leaves a file out), sealed."""
    files: dict[str, bytes | None] = {**model(), **(changes or {})}
    return seal(write(root, {name: data for name, data in files.items() if data is not None}), spec)


def edit(root: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Applies `change` to the statement of a sealed folder."""
    value = json.loads((root / PROVENANCE).read_bytes())
    change(value)
    (root / PROVENANCE).write_bytes(dumps(value))
    return root
