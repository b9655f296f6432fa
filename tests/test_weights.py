"""weights: what the reference reader refuses is refused; what both take is the same; nothing is allocated for a claim."""

from __future__ import annotations

import json
import os
import struct
import tempfile
import tracemalloc
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError, deserialize

from hubrelease.weights import BITS, MAX_HEADER_BYTES, ContainerFault, Fault, Header, header_bytes, header_length, parse_header, read_header

FOLDERS = (Path(__file__).parent / "cases", Path(__file__).parent.parent.parent / "shared" / "cases")
CORPUS = next((folder / "safetensors-malformed.json" for folder in FOLDERS if (folder / "safetensors-malformed.json").is_file()), None)
CASES: list[dict[str, Any]] = json.loads(CORPUS.read_bytes())["cases"] if CORPUS else []
Row = tuple[str, str, list[int]]


def ours(data: bytes) -> tuple[Header | None, list[Fault]]:
    """What we make of the bytes of a file."""
    try:
        length = header_length(data[:8], len(data))
        return parse_header(data[8 : 8 + length], len(data))
    except ContainerFault as fault:
        return None, list(fault.faults)


def theirs(data: bytes) -> list[Row] | None:
    """(name, dtype, shape) of each tensor as the reference reader has it; None where it refuses the file."""
    try:
        return sorted((name, tensor["dtype"], list(tensor["shape"])) for name, tensor in deserialize(data))
    except SafetensorError:
        return None


def rows(header: Header) -> list[Row]:
    return sorted((t.name, t.dtype, list(t.shape)) for t in header.tensors)


def container(document: object, data: bytes) -> bytes:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: str = "U8", shape: Any = (1,), offsets: Any = (0, 1), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


# ------------------------------------------------------------------------------------------------------------ the corpus


@pytest.mark.skipif(not CASES, reason="36 cases of safetensors-malformed.json are not beside the repository")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_of_the_corpus_is_read_as_the_reference_reader_does_or_refused(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    assert len(data) == case["size"]
    accepted = case["deserialize"].startswith("accepts")
    assert (theirs(data) is not None) == accepted
    header, faults = ours(data)
    if not accepted:
        assert faults, case["what"]
    elif header is not None and not [f for f in faults if not f.remark]:
        assert rows(header) == theirs(data)
    else:
        assert {f.kind for f in faults} <= {"header-duplicate-key", "header-form"}  # readers differ, or the format's text forbids it


def test_what_readers_differ_in_is_refused_though_the_reference_reader_takes_it() -> None:
    twice = b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}'
    assert theirs(container(twice, b"x")) is not None
    assert [f.kind for f in ours(container(twice, b"x"))[1]] == ["header-duplicate-key"]


# ---------------------------------------------------------------------------------------------------------- by property

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(lambda name: name != "__metadata__")
SHAPES = st.lists(st.integers(0, 4), max_size=4)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[tuple[str, str, tuple[int, ...]]], dict[str, str], bytes]:
    """(tensors, metadata, bytes) of a valid file made by hand, its entries in any order."""
    tensors = []
    for name in draw(st.lists(NAMES, unique=True, max_size=5)):
        dtype = draw(st.sampled_from(sorted(BITS)))
        shape = tuple(draw(SHAPES))
        tensors.append((name, dtype, shape if prod(shape) * BITS[dtype] % 8 == 0 else (*shape, 8)))
    metadata = draw(
        st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            max_size=3,
        )
    )
    position, document = 0, {"__metadata__": metadata} if metadata or draw(st.booleans()) else {}
    for name, dtype, shape in tensors:
        size = prod(shape) * BITS[dtype] // 8
        document[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [position, position + size]}
        position += size
    shuffled = dict(draw(st.permutations(list(document.items()))))
    text = json.dumps(shuffled, ensure_ascii=draw(st.booleans())).encode() + b" " * draw(st.integers(0, 9))
    return tensors, metadata, container(text, draw(st.binary(min_size=position, max_size=position)))


@settings(max_examples=80)
@given(files())
def test_a_valid_file_is_read_as_the_reference_reader_reads_it(made: tuple[list[Any], dict[str, str], bytes]) -> None:
    tensors, metadata, data = made
    header, faults = ours(data)
    assert header is not None
    assert all(f.kind == "header-form" for f in faults)  # odd names, odd rows of sub-byte types
    assert rows(header) == theirs(data) == sorted((n, d, list(s)) for n, d, s in tensors)
    assert header.metadata == metadata
    found = {name: bytes(tensor["data"]) for name, tensor in deserialize(data)}
    for tensor in header.tensors:
        assert data[header.data_start + tensor.begin : header.data_start + tensor.end] == found[tensor.name]
        assert tensor.size * 8 == tensor.elements * BITS[tensor.dtype]


@settings(max_examples=200)
@given(files(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 4), st.sampled_from(b'0123456789{}[]",:-.eE\\u \x00\xffaF')), min_size=1, max_size=5), st.booleans())  # fmt: skip
def test_whatever_the_reference_reader_refuses_we_refuse(
    made: tuple[Any, Any, bytes], changes: list[tuple[int, int, int]], refit: bool
) -> None:
    data = bytearray(made[2])
    for at, what, byte in changes:
        at %= len(data)
        data[at : at + (what not in (0, 1))] = b"" if what == 2 else bytes([byte]) if what != 1 else data[at % 20 :][:3]
        data = data or bytearray(8)
    if refit and b"}" in data:
        data[:8] = struct.pack("<Q", max(0, bytes(data).rfind(b"}") - 7))
    header, faults = ours(bytes(data))
    reference = theirs(bytes(data))
    errors = [f for f in faults if not f.remark]
    if reference is None:
        assert header is None or errors
    if header is not None and not errors:
        assert rows(header) == reference


# ------------------------------------------------------------------------------------- what JSON readers see differently

HEADERS: dict[str, bytes] = {
    "half a surrogate in a name": b'{"\\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
    "half a surrogate in a value": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":"\\udc00"}}',
    "minus zero": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[-0,1]}}',
    "a float": b'{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}',
    "an exponent": b'{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}',
    "true": b'{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}',
    "text": b'{"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}}',
    "beyond 64 bits": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551617]}}',
    "an overflow": b'{"a":{"dtype":"U8","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,1]}}',
    "many dimensions": b'{"a":{"dtype":"U8","shape":[' + b"9," * 5000 + b'1],"data_offsets":[0,1]}}',
    "an infinite number": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1e999}}',
    "NaN": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":NaN}}',
    "deep nesting": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":' + b"[" * 200 + b"]" * 200 + b"}}",
    "endless nesting": b'{"a":' + b"[" * 100_000,
    "a key twice": b'{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
    "a byte order mark": b'\xef\xbb\xbf{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
    "a form feed": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}\x0c',
    "another encoding": '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'.encode("utf-16"),
    "a list": b"[]",
    "a row of sizes": b'{"a":["U8",[1],[0,1]]}',
    "reversed offsets": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}',
    "three offsets": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}}',
    "half a byte": b'{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}',
    "metadata of numbers": b'{"__metadata__":{"a":1},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
    "many digits": b'{"a":{"dtype":"U8","shape":[' + b"1" * 5000 + b'],"data_offsets":[0,1]}}',
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_readers_may_see_differently_is_refused(name: str) -> None:
    header, faults = ours(container(HEADERS[name], b"x"))
    assert header is None or [f for f in faults if not f.remark]
    assert all(len(f.message) <= 400 for f in faults)


@pytest.mark.parametrize(
    ("entries", "size", "words"),
    [
        ({"a": entry(offsets=(0, 1)), "b": entry(offsets=(2, 3))}, 3, "leaves a gap"),
        ({"a": entry(offsets=(0, 1)), "b": entry(offsets=(0, 1))}, 1, "overlaps"),
        ({"a": entry(offsets=(0, 1))}, 5, "belong to none"),
        ({"a": entry(offsets=(0, 1))}, 0, "are promised"),
        ({"a": entry(offsets=(1, 2))}, 2, "leaves a gap"),
        ({"a": entry("F32", (2, 2), (0, 12))}, 12, "takes 16 bytes"),
    ],
)
def test_offsets_tile_the_buffer(entries: dict[str, Any], size: int, words: str) -> None:
    assert any(words in f.message for f in ours(container(entries, bytes(size)))[1])


# --------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("claimed", [12, 1000, 10**6, 99_999_999, MAX_HEADER_BYTES, MAX_HEADER_BYTES + 1, 2**63, 2**64 - 1])
def test_nothing_is_allocated_for_what_a_header_claims(tmp_path: Path, claimed: int) -> None:
    file = tmp_path / "x.safetensors"
    file.write_bytes(struct.pack("<Q", claimed) + b"{" * (claimed == 12) + bytes(11))
    fd = os.open(file, os.O_RDONLY)
    tracemalloc.start()
    with pytest.raises(ContainerFault):
        read_header(fd)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    os.close(fd)
    assert peak < 100_000


@pytest.mark.parametrize("data", [b"", b"\x00", bytes(7), bytes(8), struct.pack("<Q", 2) + b"{"], ids=repr)
def test_a_file_too_short_for_a_header_is_refused(data: bytes) -> None:
    assert ours(data)[1]


@pytest.mark.parametrize(
    "data",
    [
        b"version https://git-lfs.github.com/spec/v1\n",
        b"PK\x03\x04" + bytes(60),
        b"<!DOCTYPE html>" + bytes(60),
        b"\x80\x02" + b"\xff" * 60,
    ],
)
def test_a_file_of_another_kind_is_refused(data: bytes) -> None:
    assert ours(data)[1]


# --------------------------------------------------------------------------------------------------------- header_bytes


@settings(max_examples=80)
@given(files())
def test_a_header_that_we_write_is_read_back_by_both(made: tuple[list[tuple[str, str, tuple[int, ...]]], dict[str, str], bytes]) -> None:
    tensors, metadata, _ = made
    head = header_bytes(tensors, metadata)
    data = head + bytes(sum(prod(shape) * BITS[dtype] // 8 for _, dtype, shape in tensors))
    header, _ = ours(data)
    assert header is not None
    position, found = 0, {t.name: t for t in header.tensors}
    for name, dtype, shape in tensors:
        assert (found[name].dtype, found[name].shape, found[name].begin) == (dtype, shape, position)
        position = found[name].end
    assert (header.metadata, header.data_start % 8) == (metadata, 0)
    assert rows(header) == theirs(data)
    assert header_bytes(tensors, dict(reversed(metadata.items()))) == head


def test_a_file_on_disk_is_read_like_its_bytes() -> None:
    head = header_bytes([("a", "BF16", (2, 3)), ("b", "F32", ())], {"format": "pt"})
    with tempfile.TemporaryFile() as file:
        file.write(head + bytes(16))
        file.flush()
        header = read_header(file.fileno())
    assert [(t.name, t.begin, t.end) for t in header.tensors] == [("a", 0, 12), ("b", 12, 16)]
    assert header.data_start == len(head)
