"""Tiny releases for the checks on containers, indexes, weight files and repository limits, and what those checks say.

    judged(tmp_path, {"mtp.safetensors": data})       tiny model with these files more (None leaves one out) -> [(kind, severity, file)]
    problems(tmp_path, ...)                            the same as Problems
    sharded(tensors, 2)                                {path: bytes} of shards and their index, as save_pretrained writes them
    raw({"w": {...}}, body)                            a container with a header of one's choice
    gguf.Model(...)                                    see below: bytes of a GGUF file

Every problem must have a sentence, a mend and a place; checks of other ranges are not run.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tiny

from hubrelease import verify_release
from hubrelease.checks import checks
from hubrelease.errors import Problem
from hubrelease.release import Release

CODES = {"HR220", *(f"HR{number}" for number in range(227, 250))}
Tensors = Mapping[str, tiny.Tensor]
INDEX = "model.safetensors.index.json"
Found = list[tuple[str, str, str]]


def opened(tmp_path: Path, changes: Mapping[str, bytes | None] | None = None, spec: Mapping[str, Any] | None = None, *,
           deep: bool = False, bare: bool = False) -> Release:  # fmt: skip
    """The tiny release with `changes`, read. `bare`: without a provenance."""
    root = tiny.release(tmp_path / "release", changes, spec)
    if bare:
        (root / tiny.PROVENANCE).unlink()
    return Release(root, verify_release.check_folder(root), deep=deep)


def problems_of(release: Release) -> list[Problem]:
    found = [problem for check in checks() if check.code in CODES for problem in check.run(release)]
    for problem in found:
        assert problem.message, problem
        assert "\n" not in problem.message, problem
        assert problem.mend, problem
        assert problem.where.file, problem
    return found


def problems(
    tmp_path: Path, changes: Mapping[str, bytes | None] | None = None, spec: Mapping[str, Any] | None = None, **more: bool
) -> list[Problem]:
    return problems_of(opened(tmp_path, changes, spec, **more))


def judged(tmp_path: Path, changes: Mapping[str, bytes | None] | None = None, spec: Mapping[str, Any] | None = None, **more: bool) -> Found:
    return [(p.kind, p.severity, p.where.file) for p in problems(tmp_path, changes, spec, **more)]


def one(tmp_path: Path, changes: Mapping[str, bytes | None], spec: Mapping[str, Any] | None = None, **more: bool) -> Problem:
    """The one problem."""
    found = problems(tmp_path, changes, spec, **more)
    assert len(found) == 1, found
    return found[0]


# ------------------------------------------------------------------------------------------------------- safetensors


def shards_of(tensors: Tensors, count: int) -> dict[str, dict[str, tiny.Tensor]]:
    names = list(tensors)
    each = -(-len(names) // count)
    groups = (names[start : start + each] for start in range(0, len(names), each))
    return {f"model-{n:05d}-of-{count:05d}.safetensors": {name: tensors[name] for name in group} for n, group in enumerate(groups, 1)}


def index_of(shards: Mapping[str, Tensors], **metadata: Any) -> dict[str, Any]:
    total = sum(len(data) for tensors in shards.values() for _, _, data in tensors.values())
    return {
        "metadata": {"total_size": total, **metadata},
        "weight_map": {name: file for file, tensors in shards.items() for name in tensors},
    }


def sharded(tensors: Tensors | None = None, count: int = 2, folder: str = "") -> dict[str, bytes | None]:
    """Shards and index in place of model.safetensors."""
    shards = shards_of(tensors or tiny.weights(), count)
    files: dict[str, bytes | None] = {folder + file: tiny.safetensors(held) for file, held in shards.items()}
    files[folder + INDEX] = tiny.dumps(index_of(shards))
    return {"model.safetensors": None, **files} if not folder else files


def with_index(files: Mapping[str, bytes | None], change: Any, path: str = INDEX) -> dict[str, bytes | None]:
    """`files` with their index changed by `change(index)`."""
    index = json.loads(files[path] or b"")
    change(index)
    return {**files, path: tiny.dumps(index)}


def raw(header: object, body: bytes = b"", *, pad: bool = True) -> bytes:
    """A container of a header of one's choice: a value, or its text."""
    text = (
        header
        if isinstance(header, bytes)
        else header.encode()
        if isinstance(header, str)
        else json.dumps(header, separators=(",", ":")).encode()
    )
    text += b" " * (-len(text) % 8) if pad else b""
    return struct.pack("<Q", len(text)) + text + body


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# -------------------------------------------------------------------------------------------------------------- GGUF

U32, STRING, ARRAY, U16, I32 = 4, 8, 9, 2, 5


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def gguf(tensors: Mapping[str, tuple[int, list[int], bytes]] | None = None, keys: bytes | None = None, key_count: int | None = None, *,
         version: int = 3, alignment: int = 32, split: tuple[int, int, int] | None = None) -> bytes:  # fmt: skip
    """A GGUF file of (type, shape, data) tensors; `split` writes split.no, split.count and split.tensors.count."""
    tensors = {"token_embd.weight": (0, [4, 2], bytes(32)), "output_norm.weight": (0, [4], bytes(16))} if tensors is None else tensors
    rows = [
        key("general.architecture", STRING, text("llama")),
        key("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", STRING, 3) + text("a") + text("b") + text("c")),
    ]
    if split:
        rows += [key("split.no", U16, struct.pack("<H", split[0])), key("split.count", U16, struct.pack("<H", split[1]))]
        rows.append(key("split.tensors.count", I32, struct.pack("<i", split[2])))
    if alignment != 32:
        rows.append(key("general.alignment", U32, struct.pack("<I", alignment)))
    head, infos, offset, data = b"".join(rows) if keys is None else keys, b"", 0, b""
    for name, (kind, shape, body) in tensors.items():
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        data += body + bytes(-len(body) % alignment)
        offset = len(data)
    count = (len(rows) if keys is None else 0) if key_count is None else key_count
    start = b"GGUF" + struct.pack("<IQQ", version, len(tensors), count) + head + infos
    return start + bytes(-len(start) % alignment) + data
