"""gguf: what was written is read; whatever bytes are read, nothing is raised, waited for or allocated for a claim."""

from __future__ import annotations

import os
import struct
import tempfile
import time
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st
from weight_files import ARRAY, I32, STRING, U32, gguf, key, text

from hubrelease.gguf import GGML_TYPES, GgufFile, Reader

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=15)
SHAPES = st.lists(st.integers(0, 5), max_size=4)


def read(data: bytes, reader: Reader | None = None) -> GgufFile:
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        return (reader or Reader()).read(stream.fileno(), len(data))


def body(kind: int, shape: list[int]) -> tuple[int, list[int], bytes]:
    _, block, size = GGML_TYPES[kind]
    whole = [shape[0] * block, *shape[1:]] if shape else [block] if block > 1 else []
    count = 1
    for dimension in whole:
        count *= dimension
    return kind, whole, bytes(count // block * size)


TENSORS = st.dictionaries(NAMES, st.builds(body, st.sampled_from(sorted(GGML_TYPES)), SHAPES), max_size=6)


@given(TENSORS, st.sampled_from([8, 32, 64, 4096]), st.sampled_from([2, 3]))
def test_what_was_written_is_read(tensors, alignment, version):
    found = read(gguf(tensors, alignment=alignment, version=version))
    assert not found.faults
    assert [(t.name, t.type, list(t.shape), t.size) for t in found.tensors] == [(n, k, s, len(d)) for n, (k, s, d) in tensors.items()]
    assert found.keys["general.architecture"] == "llama"


@given(TENSORS, st.data())
def test_changed_bytes_never_raise(tensors, data):
    whole = bytearray(gguf(tensors, split=(0, 2, 3)))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(whole))


@given(st.binary(max_size=300))
def test_any_bytes_never_raise(data):
    assert read(data).faults
    assert read(b"GGUF\3\0\0\0" + data).faults or len(data) >= 16


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.binary(max_size=200))
def test_claims_of_counts_take_no_memory_and_no_time(tensors, keys, rest):
    data = b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + rest
    tracemalloc.start()
    start = time.perf_counter()
    read(data)
    assert time.perf_counter() - start < 1
    assert tracemalloc.get_traced_memory()[1] < 5 * 2**20
    tracemalloc.stop()


@given(st.sampled_from([STRING, U32, ARRAY, 0, 12]), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_claims_of_lengths(kind, count, length):
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key("k", ARRAY, struct.pack("<IQQ", kind, count, length)) + bytes(64)
    found = read(data)
    assert found.faults or count < len(data)


@settings(max_examples=20)
@given(st.lists(st.text(max_size=20), max_size=40))
def test_arrays_are_passed_over(words):
    words = words * 50  # long enough to be remembered
    rows = key("tokens", ARRAY, struct.pack("<IQ", STRING, len(words)) + b"".join(map(text, words)))
    rows += key("scores", ARRAY, struct.pack("<IQ", 6, len(words)) + bytes(4 * len(words))) + key("last", I32, struct.pack("<i", -7))
    reader = Reader()
    for _ in range(2):  # the second time by comparing with what the first one held
        found = read(gguf(None, rows, 3), reader)
        assert not found.faults
        assert found.keys == {"tokens": None, "scores": None, "last": -7}


def test_a_remembered_vocabulary_is_not_taken_for_another():
    words = [f"w{n}" for n in range(2000)]
    reader = Reader()
    for change in ("w0", "another"):
        words[0] = change
        rows = key("tokens", ARRAY, struct.pack("<IQ", STRING, len(words)) + b"".join(map(text, words))) + key(
            "last", I32, struct.pack("<i", 5)
        )
        assert read(gguf(None, rows, 2), reader).keys["last"] == 5


def test_a_sparse_file_of_empty_strings_is_given_up():
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key("k", ARRAY, struct.pack("<IQ", STRING, 2**32))
    with tempfile.TemporaryFile() as stream:
        stream.write(head)
        os.truncate(stream.fileno(), 2**36)
        start = time.perf_counter()
        found = Reader().read(stream.fileno(), 2**36)
    assert found.faults[0].kind == "gguf-invalid"
    assert time.perf_counter() - start < 5
