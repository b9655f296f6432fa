"""GGUF containers: header, keys and tensor infos, read strictly under limits of our own; no tensor is read.

Layout (ggml docs/gguf.md, versions 2 and 3): magic, version, counts, key-value pairs, tensor infos, padding, data. What
llama.cpp's reader (ggml/src/gguf.cpp) refuses is a fault here. Lengths are compared with what is left of the file before
anything is read; keys are kept only where they are scalars, for a vocabulary has half a million strings.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hubrelease.weights import Fault

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_DIMENSIONS = 4  # GGML_MAX_DIMS
MAX_NAME_BYTES = 63  # GGML_MAX_NAME without its NUL; stable-diffusion.cpp and others are built with a larger one
MAX_KEYS, MAX_TENSORS = 100_000, 1_000_000
MAX_STRINGS = 8_000_000  # in all arrays of a file: a sparse file can promise billions of empty ones
MAX_TEXT_BYTES = 65_535  # of a key, by the format's text
KEPT_STRING_BYTES = 1024
CHUNK_BYTES = 2**20

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
SCALARS = {
    UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "?",
    UINT64: "Q", INT64: "q", FLOAT64: "d",
}  # fmt: skip

# ggml type → (name, elements of a block, bytes of a block), as of gguf 0.19; numbers that are absent were removed, or are a fork's.
GGML_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip


class GgufTensor(NamedTuple):
    """A tensor: `shape` in GGUF's order (row length first), `offset` from the start of the data; `size` None for an unknown type."""

    name: str
    type: int
    shape: tuple[int, ...]
    offset: int
    size: int | None


@dataclass(frozen=True, slots=True)
class GgufFile:
    """`keys` are the scalars and short strings; `tensors` is empty where the infos can't be read."""

    keys: Mapping[str, object] = field(default_factory=dict)
    tensors: tuple[GgufTensor, ...] = ()
    faults: tuple[Fault, ...] = ()


class BadGguf(Exception):
    """The file can't be read further; `fault` says why."""

    def __init__(self, message: str, kind: str = "gguf-invalid") -> None:
        self.fault = Fault(kind, message[:400])
        super().__init__(message)


class Cursor:
    """Reads a file forward in chunks. Raises BadGguf (truncated) rather than give fewer bytes than asked for."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd, self.size, self.position, self.order = fd, size, 0, "<"
        self.chunk, self.chunk_start = b"", 0

    def need(self, count: int, what: str) -> None:
        if count > self.size - self.position:
            raise BadGguf(f"{what} takes {count} bytes, {self.size - self.position} are left of the file", "truncated")

    def take(self, count: int, what: str) -> bytes:
        self.need(count, what)
        at = self.position - self.chunk_start
        if at + count > len(self.chunk):
            self.chunk, self.chunk_start, at = os.pread(self.fd, max(count, CHUNK_BYTES), self.position), self.position, 0
        self.position += count
        data = self.chunk[at : at + count]
        if len(data) < count:
            raise BadGguf(f"{what} could not be read whole", "truncated")
        return data

    def skip(self, count: int, what: str) -> None:
        self.need(count, what)
        self.position += count

    def number(self, code: str, what: str) -> int:
        return int(struct.unpack(self.order + code, self.take(struct.calcsize(self.order + code), what))[0])

    def text(self, what: str) -> str:
        length = self.number("Q", f"the length of {what}")
        if length > MAX_TEXT_BYTES:
            raise BadGguf(f"{what} of {length} bytes; {MAX_TEXT_BYTES} is the limit")
        raw = self.take(length, what)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise BadGguf(f"{what} is not UTF-8: {raw[:40]!r}") from None


class Reader:
    """Reads GGUF files of one release. Variants of one model hold the same vocabulary: it is gone through once."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], bytes] = {}  # arrays of strings by byte order and count, as they stand in a file
        self.strings = 0

    def read(self, fd: int, size: int) -> GgufFile:
        """The file open as `fd`. Never raises but OSError: what is wrong is in its faults."""
        cursor = Cursor(fd, size)
        self.strings = 0
        keys: dict[str, object] = {}
        tensors: list[GgufTensor] = []
        try:
            tensor_count, key_count = read_counts(cursor)
            for _ in range(key_count):
                self.read_key(cursor, keys)
            alignment = alignment_of(keys)
            for _ in range(tensor_count):
                tensors.append(read_tensor(cursor))
        except BadGguf as bad:
            return GgufFile(keys, (), (bad.fault,))
        return GgufFile(keys, tuple(tensors), tuple(data_faults(cursor, tensors, alignment)))

    def read_key(self, cursor: Cursor, keys: dict[str, object]) -> None:
        name = cursor.text("a key")
        if not name or name in keys:
            raise BadGguf(f"the key {name!r} stands twice" if name else "a key is empty")
        kind = cursor.number("I", f"the type of {name!r}")
        keys[name] = None
        if kind == ARRAY:
            self.skip_array(cursor, name)
        else:
            keys[name] = read_value(cursor, name, kind)

    def skip_array(self, cursor: Cursor, name: str) -> None:
        """Goes past an array; none of them says anything about the container."""
        kind, count = cursor.number("I", f"the type of {name!r}"), cursor.number("Q", f"the length of {name!r}")
        if kind in SCALARS:
            cursor.skip(count * struct.calcsize(SCALARS[kind]), f"the array {name!r}")
        elif kind == STRING:
            self.skip_strings(cursor, name, count)
        else:
            raise BadGguf(f"{name!r} is an array of the unknown or nested type {kind}")

    def skip_strings(self, cursor: Cursor, name: str, count: int) -> None:
        cursor.need(8 * count, f"the array {name!r}")
        if (known := self.known.get((cursor.order, count))) and os.pread(cursor.fd, len(known), cursor.position) == known:
            cursor.skip(len(known), name)
            return
        self.strings += count
        if self.strings > MAX_STRINGS:
            raise BadGguf(f"its arrays hold more than {MAX_STRINGS} strings; it was not read further")
        start = cursor.position
        form, pread, fd, position, end = struct.Struct(cursor.order + "Q").unpack_from, os.pread, cursor.fd, start, cursor.size
        chunk, base, last = b"", start, -1
        for _ in range(count):  # 750,000 turns for a large vocabulary: nothing but this stands inside
            if position > last:
                if position > end - 8:
                    raise BadGguf(f"the array {name!r} runs past the end of the file", "truncated")
                chunk, base = pread(fd, CHUNK_BYTES, position), position
                last = base + len(chunk) - 8
                if position > last:
                    raise BadGguf(f"the array {name!r} could not be read whole", "truncated")
            position += 8 + form(chunk, position - base)[0]
        if position > end:
            raise BadGguf(f"the array {name!r} runs past the end of the file", "truncated")
        cursor.position = position
        if count > 1000 and position - start <= 32 * CHUNK_BYTES and len(self.known) < 4:
            self.known[cursor.order, count] = pread(fd, position - start, start)


def read_counts(cursor: Cursor) -> tuple[int, int]:
    """(tensors, keys), after the checks that come before anything is allocated."""
    if (magic := cursor.take(4, "the magic number")) != MAGIC:
        raise BadGguf(f"begins with {magic!r}, not {MAGIC!r}")
    version = cursor.number("I", "the version")
    if version & 0xFFFF == 0:  # written on, and for, a machine of the other byte order
        cursor.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in VERSIONS:
        raise BadGguf(f"is of GGUF version {version}; readers take 2 and 3")
    tensors, keys = cursor.number("Q", "the number of tensors"), cursor.number("Q", "the number of keys")
    if tensors > MAX_TENSORS or keys > MAX_KEYS:
        raise BadGguf(f"claims {tensors} tensors and {keys} keys, more than any reader takes")
    cursor.need(13 * keys + 24 * tensors, f"a header of {keys} keys and {tensors} tensors")
    return tensors, keys


def read_value(cursor: Cursor, name: str, kind: int) -> object:
    what = f"the value of {name!r}"
    if kind == STRING:
        length = cursor.number("Q", f"the length of {name!r}")
        if length > KEPT_STRING_BYTES:
            cursor.skip(length, what)
            return None
        return cursor.take(length, what).decode("utf-8", "backslashreplace")
    if kind not in SCALARS:
        raise BadGguf(f"{name!r} is of the unknown type {kind}")
    form = cursor.order + SCALARS[kind]
    (value,) = struct.unpack(form, cursor.take(struct.calcsize(form), what))
    if name == "general.alignment" and kind != UINT32:
        raise BadGguf(f"{name} is of type {kind}, not uint32")
    return value


def alignment_of(keys: Mapping[str, object]) -> int:
    value = keys.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(value, int) or value < 1 or value & (value - 1):
        raise BadGguf(f"general.alignment is {value!r}, not a power of two")
    return value


def read_tensor(cursor: Cursor) -> GgufTensor:
    name = cursor.text("a tensor's name")
    dimensions = cursor.number("I", f"the dimensions of {name!r}")
    if dimensions > MAX_DIMENSIONS:
        raise BadGguf(f"{name!r} has {dimensions} dimensions; {MAX_DIMENSIONS} is the limit")
    shape = tuple(cursor.number("Q", f"the shape of {name!r}") for _ in range(dimensions))
    kind, offset = cursor.number("I", f"the type of {name!r}"), cursor.number("Q", f"the offset of {name!r}")
    return GgufTensor(name, kind, shape, offset, bytes_of(name, kind, shape))


def bytes_of(name: str, kind: int, shape: tuple[int, ...]) -> int | None:
    elements = 1
    for dimension in shape:
        elements *= dimension
        if dimension >= 2**63 or elements >= 2**63:
            raise BadGguf(f"{name!r} has the shape {list(shape)}, more elements than a file can hold")
    if kind not in GGML_TYPES:
        return None
    type_name, block, size = GGML_TYPES[kind]
    row = shape[0] if shape else 1
    if row % block:
        raise BadGguf(f"{name!r}: a row of {row} is no multiple of {block}, the block of {type_name}")
    return elements // block * size


def data_faults(cursor: Cursor, tensors: list[GgufTensor], alignment: int) -> Iterator[Fault]:
    """Faults of names, types and offsets: tensors lie one after the other, each padded to the alignment, inside the file."""
    seen: set[str] = set()
    unknown = [t for t in tensors if t.size is None]
    if unknown:
        message = f"{len(unknown)} tensors are of a type that mainline ggml does not know ({unknown[0].name!r}: {unknown[0].type})"
        yield Fault("gguf-invalid", message, unknown[0].name, remark=True)
    if long := [t.name for t in tensors if len(t.name.encode()) > MAX_NAME_BYTES]:
        message = f"the tensor name {long[0][:130]!r} is longer than {MAX_NAME_BYTES} bytes; llama.cpp refuses it"
        yield Fault("gguf-invalid", message, long[0], remark=True)
    start = padded(cursor.position, alignment)
    expected: int | None = 0
    for tensor in tensors:
        if tensor.name in seen:
            yield Fault("gguf-invalid", f"the tensor {tensor.name!r} stands twice", tensor.name)
        seen.add(tensor.name)
        if expected is not None and tensor.offset != expected:
            yield Fault(
                "gguf-invalid", f"{tensor.name!r} has the offset {tensor.offset}, {expected} follows from those before", tensor.name
            )
            return
        if tensor.offset % alignment:
            yield Fault("gguf-invalid", f"{tensor.name!r} has the offset {tensor.offset}, no multiple of {alignment}", tensor.name)
            return
        expected = None if tensor.size is None else padded(tensor.offset + tensor.size, alignment)
    yield from end_faults(tensors, start, cursor.size, alignment)


def end_faults(tensors: list[GgufTensor], start: int, size: int, alignment: int) -> Iterator[Fault]:
    """Is the data of every tensor inside the file, and the file no longer than that?"""
    end = max((start + t.offset + (t.size or 0) for t in tensors), default=0)
    if end > size:
        yield Fault("truncated", f"the tensors end at byte {end}, the file has {size}")
    elif tensors and size > padded(end, alignment) and all(t.size is not None for t in tensors):
        yield Fault("gguf-invalid", f"{size - end} bytes after the last tensor belong to none", remark=True)


def padded(position: int, alignment: int) -> int:
    return position + -position % alignment
