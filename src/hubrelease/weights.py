"""safetensors containers: the header, read with struct and json under limits of our own; never torch.

Layout (safetensors README.md, 0.8): 8 bytes little-endian N, N bytes of JSON, then the buffer. A header is refused
before anything of its claimed size is allocated; offsets must tile the buffer from 0 to the end of the file.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, TypeGuard

MAX_HEADER_BYTES = 100_000_000  # the reference reader's own limit
MAX_DIMENSION = 2**63
BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8,
    "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a container: `begin` and `end` are bytes from the start of the buffer."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin

    @property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Header:
    """Tensors in the order of their offsets; `data_start` is the buffer's first byte in the file."""

    tensors: tuple[Tensor, ...]
    metadata: dict[str, str]
    data_start: int


class Fault(NamedTuple):
    """What is wrong with a container: a kind (slug of a finding), a sentence, the tensor if one is meant."""

    kind: str
    message: str
    tensor: str | None = None


class ContainerFault(Exception):
    """The container can't be used; `faults` say why."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f.message for f in self.faults))


def read_header(fd: int) -> Header:
    """The header of the safetensors file open as `fd`. Raises ContainerFault."""
    size = os.fstat(fd).st_size
    length = header_length(os.pread(fd, 8, 0), size)
    header, faults = parse_header(os.pread(fd, length, 8), size)
    if header is None or faults:
        raise ContainerFault(faults)
    return header


def header_length(first: bytes, size: int) -> int:
    """N, after the checks that must come before anything is allocated."""
    if len(first) < 8:
        raise ContainerFault([Fault("truncated", f"has {size} bytes, too few for a safetensors file")])
    (length,) = struct.unpack("<Q", first)
    if length > MAX_HEADER_BYTES:
        raise ContainerFault([Fault("header-invalid", f"claims a header of {length} bytes; {MAX_HEADER_BYTES} is the limit")])
    if length + 8 > size:
        raise ContainerFault([Fault("truncated", f"claims a header of {length} bytes, but the file has {size} bytes in all")])
    return int(length)


def parse_header(text: bytes, size: int) -> tuple[Header | None, list[Fault]]:
    """Header and faults of the N header bytes of a file of `size` bytes. None where no tensor can be trusted."""
    try:
        document, doubled = parse_json(text)
    except ValueError as error:
        return None, [Fault("header-invalid", f"the header is not JSON: {error}")]
    if not isinstance(document, dict):
        return None, [Fault("header-invalid", "the header is not a JSON object")]
    faults = [
        Fault("header-duplicate-key", f"the header names {key!r} twice; readers differ in which one they take", key) for key in doubled
    ]
    if not text.startswith(b"{"):
        faults.append(Fault("header-form", "the header does not begin with '{', as the format demands"))
    metadata, bad = read_metadata(document.pop("__metadata__", None))
    tensors, unusable = read_tensors(document)
    faults += [*bad, *unusable]
    if unusable:
        return None, faults
    ordered = sorted(tensors, key=lambda t: (t.begin, t.end))
    faults += tiling_faults(ordered, size - 8 - len(text))
    return Header(tuple(ordered), metadata, 8 + len(text)), faults


def parse_json(text: bytes) -> tuple[object, list[str]]:
    doubled: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, item in items:
            if key in value:
                doubled.append(key)
            value[key] = item
        return value

    def refuse(token: str) -> object:
        raise ValueError(f"{token} is not JSON")

    def number(token: str) -> object:
        return float(token) if abs(float(token)) < float("inf") else refuse(token[:40])

    def whole(token: str) -> int | float:
        return int(token) if token != "-0" else -0.0  # no size: the reference reader takes it for a float

    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=pairs, parse_constant=refuse, parse_float=number, parse_int=whole)
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is no text") from None
    return value, doubled


def read_metadata(value: object) -> tuple[dict[str, str], list[Fault]]:
    if value is None:
        return {}, []
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        return {}, [Fault("header-invalid", "__metadata__ is not a mapping of text to text")]
    return value, []


def read_tensors(document: dict[str, Any]) -> tuple[list[Tensor], list[Fault]]:
    tensors: list[Tensor] = []
    faults: list[Fault] = []
    for name, entry in document.items():
        found = read_tensor(name, entry)
        if isinstance(found, Tensor):
            tensors.append(found)
        else:
            faults.append(found)
    return tensors, faults


def read_tensor(name: str, entry: object) -> Tensor | Fault:
    if not isinstance(entry, dict):
        return Fault("header-invalid", f"the entry of {name!r} is not an object", name)
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if any(is_deep(value) for key, value in entry.items() if key not in ("dtype", "shape", "data_offsets")):
        return Fault("header-invalid", f"the entry of {name!r} is nested too deeply", name)
    if not isinstance(dtype, str) or dtype not in BITS:
        return Fault("header-invalid", f"{name!r} has the unknown dtype {dtype!r}"[:200], name)
    if not is_naturals(shape):
        return Fault("header-invalid", f"{name!r} has a shape that is no list of sizes", name)
    if not is_naturals(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        return Fault("header-ranges", f"{name!r} has data_offsets that are no range", name)
    return size_fault(Tensor(name, dtype, tuple(shape), offsets[0], offsets[1]))


def is_deep(value: object, levels: int = 32) -> bool:
    """True where lists and objects stand deeper in each other than `levels`. The reference reader stops at 127."""
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(is_deep(item, levels - 1) for item in below)


def is_naturals(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < MAX_DIMENSION for n in value)


def size_fault(tensor: Tensor) -> Tensor | Fault:
    elements = 1
    for dimension in tensor.shape:  # step by step: a thousand dimensions must not make a number of a million digits
        elements *= dimension
        if elements >= MAX_DIMENSION:
            return Fault("header-invalid", f"{tensor.name!r} has more elements than a file can hold", tensor.name)
    bits = elements * BITS[tensor.dtype]
    if bits % 8:
        return Fault(
            "header-invalid",
            f"{tensor.name!r}: {elements} elements of {tensor.dtype} are no whole number of bytes",
            tensor.name,
        )
    if bits // 8 != tensor.size:
        message = f"{tensor.name!r}: {tensor.dtype} {list(tensor.shape)} takes {bits // 8} bytes, data_offsets give {tensor.size}"
        return Fault("header-ranges", message[:300], tensor.name)
    return tensor


def tiling_faults(tensors: list[Tensor], buffer_bytes: int) -> Iterator[Fault]:
    """Offsets tile the buffer: each begins where the one before ends, the last ends with the file."""
    position, before = 0, "the start of the buffer"
    for tensor in tensors:
        if tensor.begin != position:
            what = "overlaps" if tensor.begin < position else "leaves a gap after"
            message = f"{tensor.name!r} begins at byte {tensor.begin} and {what} {before}, which ends at {position}"
            yield Fault("header-ranges", message, tensor.name)
        position, before = max(position, tensor.end), repr(tensor.name)
    if position > buffer_bytes:
        yield Fault("truncated", f"{position} bytes of tensors are promised, {max(buffer_bytes, 0)} are there")
    elif position < buffer_bytes:
        yield Fault("header-ranges", f"{buffer_bytes - position} bytes after the last tensor belong to none")


def header_bytes(tensors: Iterable[tuple[str, str, tuple[int, ...]]], metadata: dict[str, str]) -> bytes:
    """The first bytes of a safetensors file of (name, dtype, shape) in this order: N and the padded JSON, keys of metadata sorted."""
    document: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    position = 0
    for name, dtype, shape in tensors:
        size = prod(shape) * BITS[dtype] // 8
        document[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [position, position + size]}
        position += size
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


SHARD = re.compile(r"(.*?)-(\d{5,})-of-(\d{5,})\.safetensors$")
