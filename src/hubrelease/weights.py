"""safetensors containers: the header, read with struct and json under limits of our own; never torch.

Layout (safetensors README.md, 0.8): 8 bytes little-endian N, N bytes of JSON, then the buffer. A header is refused
before anything of its claimed size is allocated; offsets must tile the buffer from 0 to the end of the file. What the
reference reader (the Rust crate, 0.8) refuses is a fault here, as is what it takes and the format's own text forbids.
"""

from __future__ import annotations

import json
import os
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple, TypeGuard

MAX_HEADER_BYTES = 100_000_000  # the reference reader's own limit
MAX_OBJECTS = 1_000_000  # tensors of one file; a header of 100 MB could hold 14 million empty ones and take 3 GB
MAX_DEPTH = 120  # serde_json stops at 128 levels
TOO_MANY = 2**64  # sizes and offsets are of 64 bits
BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8,
    "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip


class Tensor(NamedTuple):
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


OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive (torch.save)", b"\x80\x02": "a pickle", b"\x80\x03": "a pickle", b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle", b"GGUF": "a GGUF file", b"<!DOCT": "a web page", b"<html": "a web page", b"\x1f\x8b": "a gzip file",
    b"\x89HDF": "an HDF5 file", b"version ": "a git-lfs pointer", b"{": "JSON",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Header:
    """Tensors in the order of their offsets; `data_start` is the buffer's first byte in the file."""

    tensors: tuple[Tensor, ...]
    metadata: dict[str, str]
    data_start: int


class Fault(NamedTuple):
    """What is wrong with a container: a kind (slug of a finding), a sentence, the tensor if one is meant.

    A `remark` is less than an error: the reference reader can use the file, but its form is not what the format asks for.
    """

    kind: str
    message: str
    tensor: str | None = None
    remark: bool = False


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
        form = next((f"; it looks like {what}" for magic, what in OTHER_FORMATS.items() if first.startswith(magic)), "")
        raise ContainerFault([Fault("header-invalid", f"claims a header of {length} bytes; {MAX_HEADER_BYTES} is the limit{form}")])
    if length + 8 > size:
        raise ContainerFault([Fault("truncated", f"claims a header of {length} bytes, but the file has {size} bytes in all")])
    return int(length)


def parse_header(text: bytes, size: int) -> tuple[Header | None, list[Fault]]:
    """Header and faults of the N header bytes of a file of `size` bytes. None where no tensor can be trusted."""
    try:
        pairs = parse_json(text)
    except ValueError as error:
        return None, [Fault("header-invalid", f"the header is not JSON: {error}"[:300])]
    if type(pairs) is not tuple:
        return None, [Fault("header-invalid", "the header is not a JSON object")]
    document, faults = unique(pairs)
    metadata, bad = read_metadata(document.pop("__metadata__", None))
    tensors, unusable = read_tensors(document)
    faults += [*bad, *unusable]
    if unusable or any(fault.kind == "header-invalid" for fault in bad):
        return None, faults
    tensors.sort(key=itemgetter(3, 4))  # begin, end
    faults += [*form_faults(text, tensors), *tiling_faults(tensors, size - 8 - len(text))]
    return Header(tuple(tensors), metadata, 8 + len(text)), faults


# ------------------------------------------------------------------------------------------------- the header as JSON

Pairs = tuple[tuple[str, Any], ...]  # an object of the header; the built-in `tuple` as hook is twice as fast as a function of ours


def parse_json(text: bytes) -> object:
    """The header's JSON, its objects as Pairs. ValueError for what the reference reader's parser (serde_json) refuses."""
    if text.count(b"{") > MAX_OBJECTS:
        raise ValueError(f"it has more than {MAX_OBJECTS} objects and was not read")
    options: dict[str, Any] = {"parse_int": integer} if b"-0" in text else {}
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=tuple, parse_constant=refuse, parse_float=finite, **options)
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("an escape is half of a surrogate pair") from None
    return value


def refuse(token: str) -> float:
    raise ValueError(f"{token[:40]} is not a number that JSON knows")


def finite(token: str) -> float:
    value = float(token)
    return value if abs(value) < float("inf") else refuse(token)


def integer(digits: str) -> int | float:
    """serde_json reads -0 as a float, and no size is one."""
    return -0.0 if digits == "-0" else int(digits)


def unique(pairs: Pairs) -> tuple[dict[str, Any], list[Fault]]:
    """The header's entries, the last of each name as the reference reader has it, and a fault for each name given twice."""
    entries = dict(pairs)
    if len(entries) == len(pairs):
        return entries, []
    doubled = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    return entries, [doubled_fault(f"the header names {name!r} twice", name) for name in doubled]


def doubled_fault(what: str, tensor: str | None) -> Fault:
    return Fault("header-duplicate-key", f"{what[:250]}; readers differ in which one they take", tensor)


def read_metadata(value: object) -> tuple[dict[str, str], list[Fault]]:
    if value is None:
        return {}, []
    if type(value) is not tuple or not all(type(text) is str for _, text in value):
        return {}, [Fault("header-invalid", "__metadata__ is not a mapping of text to text")]
    metadata, faults = unique(value)
    return metadata, [doubled_fault(f"__metadata__ has {fault.tensor!r} twice", None) for fault in faults]


# ------------------------------------------------------------------------------------------------------- its entries

CANONICAL = {name: name for name in BITS}  # one string a dtype, not one a tensor
SUB_BYTE = frozenset(name for name, bits in BITS.items() if bits % 8)


def read_tensors(entries: Mapping[str, Any]) -> tuple[list[Tensor], list[Fault]]:
    """The tensors, and the faults of those that can't be used."""
    tensors: list[Tensor] = []
    faults: list[Fault] = []
    for name, fields in entries.items():
        found = read_tensor(name, fields)
        if type(found) is Tensor:
            tensors.append(found)
        elif isinstance(found, Fault):
            faults.append(found)
    return tensors, faults


def read_tensor(name: str, fields: object) -> Tensor | Fault:
    """One entry. Written for speed: a large release has 100,000 of them."""
    if type(fields) is not tuple:
        return Fault("header-invalid", f"the entry of {name!r} is not an object"[:300], name)
    entry = dict(fields)
    if len(entry) != len(fields):
        return doubled_fault(f"the entry of {name!r} gives a key twice", name)
    if len(entry) > 3 and too_deep(fields):
        return Fault("header-invalid", f"the entry of {name!r} is nested too deeply"[:300], name)
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if type(dtype) is not str or dtype not in CANONICAL:
        return Fault("header-invalid", f"{name!r} has the unknown dtype {dtype!r}"[:300], name)
    elements = count_of(shape)
    if elements is None:
        return Fault("header-invalid", f"{name!r} has a shape that is no list of sizes, or more elements than a file can hold"[:300], name)
    if not is_range(offsets):
        return Fault("header-ranges", f"{name!r} has data_offsets that are no range"[:300], name)
    tensor = Tensor(name, CANONICAL[dtype], tuple(shape), *offsets)  # type: ignore[arg-type]
    return tensor if (tensor.end - tensor.begin) * 8 == elements * BITS[dtype] else size_fault(tensor, elements)


def is_range(value: object) -> TypeGuard[list[int]]:
    return (
        type(value) is list and len(value) == 2 and type(value[0]) is int and type(value[1]) is int and 0 <= value[0] <= value[1] < TOO_MANY
    )


def count_of(shape: Any) -> int | None:
    """The elements of a shape; None where it is no list of natural numbers of 64 bits, or comes to too many on the way."""
    if type(shape) is not list:
        return None
    elements = 1
    for dimension in shape:  # step by step: a thousand dimensions must not make a number of a million digits
        if type(dimension) is not int or not 0 <= dimension < TOO_MANY:
            return None
        elements *= dimension
        if elements >= TOO_MANY:
            return None
    return elements


def too_deep(value: object) -> bool:
    """True where lists and objects lie deeper in one another than serde_json reads."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        level = [item for outer in level if isinstance(outer, (list, tuple)) for item in outer]
        depth += 1
    return bool(level)


def size_fault(tensor: Tensor, elements: int) -> Fault:
    if elements * BITS[tensor.dtype] % 8:
        message = f"{tensor.name!r}: {elements} elements of {tensor.dtype} are no whole number of bytes"
        return Fault("header-invalid", message[:300], tensor.name)
    wanted = elements * BITS[tensor.dtype] // 8
    message = f"{tensor.name!r}: {tensor.dtype} {list(tensor.shape)} takes {wanted} bytes, data_offsets give {tensor.size}"
    return Fault("header-ranges", message[:300], tensor.name)


def tiling_faults(tensors: Sequence[Tensor], buffer_bytes: int) -> Iterator[Fault]:
    """Offsets tile the buffer: each begins where the one before ends, the last ends with the file."""
    position, before = 0, None
    for tensor in tensors:
        name, _, _, begin, end = tensor
        if begin != position:
            what = "overlaps" if begin < position else "leaves a gap after"
            place = repr(before.name) if before else "the start of the buffer"
            yield Fault("header-ranges", f"{name!r} begins at byte {begin} and {what} {place}, which ends at {position}"[:400], name)
        if end >= position:
            position, before = end, tensor
    if position > buffer_bytes:
        yield Fault("truncated", f"{position} bytes of tensors are promised, {max(buffer_bytes, 0)} are there")
    elif position < buffer_bytes:
        yield Fault("header-ranges", f"{buffer_bytes - position} bytes after the last tensor belong to none")


def form_faults(text: bytes, tensors: Sequence[Tensor]) -> Iterator[Fault]:
    """What the reference reader takes and others can't use, or not safely."""
    if not text.startswith(b"{"):
        yield Fault("header-form", "the header does not begin with '{', as the format demands", remark=True)
    for name, dtype, shape, _, _ in tensors:
        if dtype in SUB_BYTE and shape and shape[-1] * BITS[dtype] % 8:
            message = f"{name!r}: a row of {dtype} {list(shape)} is no whole number of bytes; torch can't hold it"
            yield Fault("header-form", message[:300], name)
        if not name or not name.isprintable() or name[0] == "/" or (".." in name and ".." in name.split("/")):
            message = f"the tensor name {name!r} is empty, leads out of a folder, or holds characters that can't be shown"
            yield Fault("header-form", message[:300], name, remark=True)


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
