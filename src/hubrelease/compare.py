"""Two releases side by side, down to tensors, JSON values and lines. Streams; holds no tensor.

Used by `verify --against` (another build of the same release) and by `diff` (two releases).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from hubrelease.containers import Container, Located
from hubrelease.release import Release
from hubrelease.strict_yaml import pointer_to
from hubrelease.verify_release import MAX_TEXT_BYTES, PROVENANCE, SIGNATURE, hash_fd

SHOWN = 60  # characters of a value
TEXTS = (".md", ".jinja", ".txt", ".py", ".yaml", ".yml", ".lock", ".sh", ".toml")


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: in which file, which part of it, how. `same_meaning`: other bytes, same content."""

    file: str
    change: str  # added, removed, changed
    part: str  # file, tensor, metadata, header, value, lines, bytes
    detail: str
    same_meaning: bool = False


def differences(one: Release, other: Release) -> Iterator[Difference]:
    """What differs between two releases, file by file in order of name. Provenance and signature follow from the rest."""
    derived = {PROVENANCE, SIGNATURE}
    for path in sorted((one.files | other.files) - derived):
        if path not in other.files:
            yield Difference(path, "removed", "file", "is only in the first")
        elif path not in one.files:
            yield Difference(path, "added", "file", "is only in the second")
        elif digest_of(one, path) != digest_of(other, path):
            yield from file_differences(one, other, path)


def digest_of(release: Release, path: str) -> tuple[str, int]:
    fd, info = release.folder.open_file(path)
    found: tuple[str, int] = hash_fd(fd, info.st_size)
    return found


def file_differences(one: Release, other: Release, path: str) -> Iterator[Difference]:
    if path.endswith(".safetensors"):
        a, b = one.containers.all[path], other.containers.all[path]
        if a.header and b.header:
            yield from container_differences(one, other, a, b)
            return
    first, second = one.read(path, MAX_TEXT_BYTES), other.read(path, MAX_TEXT_BYTES)
    if first is None or second is None:
        yield Difference(path, "changed", "bytes", "other content")
    elif path.endswith(".json"):
        yield from json_differences(path, one.json(path), other.json(path))
    elif path.endswith(TEXTS):
        yield from line_differences(path, first, second)
    else:
        yield Difference(path, "changed", "bytes", f"{len(first)} bytes against {len(second)}")


# ------------------------------------------------------------------------------------------------------------- tensors


def container_differences(one: Release, other: Release, a: Container, b: Container) -> Iterator[Difference]:
    assert a.header is not None
    assert b.header is not None
    first = {t.name: Located(a.file, t) for t in a.header.tensors}
    second = {t.name: Located(b.file, t) for t in b.header.tensors}
    found = [
        d for name in sorted(first.keys() | second.keys()) for d in tensor_difference(one, other, name, first.get(name), second.get(name))
    ]
    yield from found
    yield from metadata_differences(a.file, a.header.metadata, b.header.metadata)
    if not found and a.header.metadata == b.header.metadata:
        yield Difference(a.file, "changed", "header", header_remark(a, b), same_meaning=True)


def header_remark(a: Container, b: Container) -> str:
    """Why two files with the same tensors and metadata have other bytes."""
    assert a.header is not None
    assert b.header is not None
    if [t.name for t in a.header.tensors] != [t.name for t in b.header.tensors]:
        return "same tensors, other bytes: the tensors lie in another order"
    if a.header.data_start != b.header.data_start:
        return "same tensors, other bytes: the header is padded or spelt otherwise"
    if list(a.header.metadata) != list(b.header.metadata):
        return "same tensors, other bytes: the keys of __metadata__ are in another order"
    return "same tensors, other bytes: the header is spelt otherwise"


def tensor_difference(one: Release, other: Release, name: str, a: Located | None, b: Located | None) -> Iterator[Difference]:
    if a is None or b is None:
        file, change = (b or a).file, "added" if a is None else "removed"  # type: ignore[union-attr]
        yield Difference(file, change, "tensor", name)
    elif (a.tensor.dtype, a.tensor.shape) != (b.tensor.dtype, b.tensor.shape):
        was, now = (f"{t.dtype} {list(t.shape)}" for t in (a.tensor, b.tensor))
        yield Difference(a.file, "changed", "tensor", f"{name}: {was} → {now}")
    elif any(x != y for x, y in zip_longest(one.containers.chunks(a), other.containers.chunks(b))):
        yield Difference(a.file, "changed", "tensor", f"{name}: other values")


def metadata_differences(file: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Difference]:
    for key in sorted(a.keys() | b.keys()):
        if a.get(key) != b.get(key):
            yield Difference(file, "changed", "metadata", f"__metadata__.{key}: {shown(a.get(key))} → {shown(b.get(key))}")


# -------------------------------------------------------------------------------------------------------- values, lines


def json_differences(path: str, a: object, b: object) -> Iterator[Difference]:
    found = list(value_differences(a, b, ""))
    for pointer, detail, change in found:
        yield Difference(path, change, "value", f"{pointer or '/'}: {detail}")
    if not found:
        yield Difference(path, "changed", "bytes", "same JSON value, other bytes", same_meaning=a is not None)


def value_differences(a: object, b: object, pointer: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            at = pointer + pointer_to(key)
            if key not in a:
                yield at, shown(b[key]), "added"
            elif key not in b:
                yield at, shown(a[key]), "removed"
            else:
                yield from value_differences(a[key], b[key], at)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from value_differences(x, y, f"{pointer}/{number}")
    elif type(a) is not type(b) or a != b:
        yield pointer, f"{shown(a)} → {shown(b)}", "changed"


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def line_differences(path: str, a: bytes, b: bytes) -> Iterator[Difference]:
    first, second = (data.decode("utf-8", "backslashreplace").splitlines() for data in (a, b))
    if first == second:
        yield Difference(path, "changed", "lines", "only line ends differ", same_meaning=True)
        return
    for line in difflib.unified_diff(first, second, lineterm="", n=0):
        if line[:1] in "+-" and line[:3] not in ("+++", "---"):
            yield Difference(path, "added" if line[0] == "+" else "removed", "lines", line)
