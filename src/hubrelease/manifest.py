"""The manifest of a tree: path, SHA-256, size and role of every file, and its two digests (contract.md 3).

Reading a sealed manifest belongs to verify_release.py; the digests are computed there too, so there is one idea of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hubrelease import verify_release

REPORT = "benchmarks/release-validation.json"
WEIGHT_SUFFIXES = (
    ".safetensors",
    ".safetensors.index.json",
    ".gguf",
    ".bin",
    ".pt",
    ".pth",
    ".onnx",
    ".h5",
    ".msgpack",
)
TOKENIZER_NAMES = (
    "tokenizer",
    "chat_template",
    "vocab",
    "merges",
    "special_tokens",
    "added_tokens",
    "spiece",
    "sentencepiece",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a release: POSIX path, 64 hex digits, bytes, role."""

    path: str
    sha256: str
    size: int
    role: str


def role_of(path: str) -> str:
    """The role of a file by its place and name: weights, config, tokenizer, adapter, runtime, card, licence, receipt, example, other."""
    base = path.rsplit("/", 1)[-1]
    if path == "README.md":
        return "card"
    if base.upper().startswith(("LICENSE", "NOTICE", "LICENCE", "COPYING")):
        return "licence"
    if path.startswith(("benchmarks/", ".eval_results/")) or base in (
        "validation.json",
        "conversion_validation.json",
        "runtime_validation.json",
    ):
        return "receipt"
    if path.startswith(("examples/", "docs/", "assets/")):
        return "example"
    if path.startswith("runtime/") or base in ("Dockerfile", "requirements.txt", "requirements.lock"):
        return "runtime"
    if path.startswith("adapter/") or base.startswith("adapter_"):
        return "adapter"
    if base.endswith(WEIGHT_SUFFIXES):
        return "weights"
    if base.startswith(TOKENIZER_NAMES):
        return "tokenizer"
    return "config" if base.endswith((".json", ".jinja")) else "other"


def subjects(entries: Iterable[Entry]) -> list[verify_release.Subject]:
    return [verify_release.Subject(e.path, e.sha256, e.size, e.role) for e in entries]


def payload_digest(entries: Iterable[Entry]) -> str:
    found: str = verify_release.payload_digest(subjects(entries))
    return found


def release_digest(entries: Iterable[Entry]) -> str:
    found: str = verify_release.release_digest(subjects(entries))
    return found
