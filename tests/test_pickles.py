"""pickles: what Python pickles is known for a pickle, with the imports that pickletools sees; nothing else is; no bytes do harm."""

from __future__ import annotations

import bz2
import collections
import datetime
import decimal
import fractions
import gzip
import io
import json
import lzma
import os
import pickle
import pickletools
import random
import tarfile
import tempfile
import time
import tracemalloc
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubrelease import pickles
from hubrelease.archives import Memory
from hubrelease.pickle_imports import is_dangerous
from hubrelease.pickle_stream import Stream
from hubrelease.pickles import Budget, Pickled

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20)
OBJECTS = (
    st.builds(collections.OrderedDict) | st.dates() | st.decimals() | st.fractions() | st.builds(collections.Counter) | st.complex_numbers()
)
VALUES = st.recursive(
    SCALARS | OBJECTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4) | st.tuples(inner, inner),
)
CONTAINERS = st.lists(VALUES, max_size=4) | st.dictionaries(st.text(max_size=5), VALUES, max_size=4) | OBJECTS


def look(data: bytes, **more: int) -> Pickled | None:
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        return pickles.look(stream.fileno(), len(data), Budget(**more))


def imports_by_pickletools(data: bytes) -> set[tuple[str, str]]:
    """The imports as the standard library's own reader shows them, strings of the memo resolved."""
    found, strings, memo = set(), [], {}
    for code, argument, _ in pickletools.genops(data):
        if code.name in ("GLOBAL", "INST"):
            found.add(tuple(argument.split(" ", 1)))
        elif code.name == "STACK_GLOBAL":
            found.add((strings[-2], strings[-1]))
        elif code.name == "MEMOIZE":
            memo[len(memo)] = strings[-1] if strings else None
        elif code.name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(argument)] = strings[-1] if strings else None
        elif code.name in ("BINGET", "LONG_BINGET", "GET"):
            strings.append(memo[int(argument)])
        elif "UNICODE" in code.name or "STRING" in code.name:
            strings.append(argument)
    return found


@given(CONTAINERS, st.sampled_from(range(6)))
def test_every_container_and_object_is_known(value, protocol):
    data = pickle.dumps(value, protocol)
    found = look(data)
    assert found is not None
    assert found.family == (f"pickle of protocol {protocol}" if protocol > 1 else "pickle of protocol 0 or 1")
    assert found.imports == imports_by_pickletools(data)
    assert not found.dangerous
    assert not found.unread


@given(SCALARS, st.sampled_from(range(2, 6)))
def test_every_framed_scalar_is_known(value, protocol):
    assert look(pickle.dumps(value, protocol)) is not None


@given(CONTAINERS, st.sampled_from(range(6)), st.sampled_from([gzip.compress, zlib.compress, bz2.compress, lzma.compress]))
def test_behind_compression(value, protocol, compress):
    found = look(compress(pickle.dumps(value, protocol)))
    assert found is not None
    assert found.family.startswith("compressed pickle")


@given(CONTAINERS, st.sampled_from(range(2, 6)), st.booleans())
def test_inside_archives(value, protocol, deflated):
    out, packed = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as archive:
        archive.writestr("m/data.pkl", pickle.dumps(value, protocol))
        archive.writestr("m/data/0", bytes(100))
    assert look(out.getvalue()).family == "zip archive of torch.save"
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("model.ckpt")
        member.size = len(out.getvalue())
        archive.addfile(member, io.BytesIO(out.getvalue()))
    assert look(packed.getvalue()).imports == look(out.getvalue()).imports


@given(st.text(max_size=400) | st.lists(st.text("(c]}.\n Ide0123'abR", max_size=20), max_size=20).map("\n".join))
def test_texts_are_no_pickles(text):
    found = look(text.encode("utf-8", "surrogatepass"))
    if found is not None:  # what Python itself can load is one
        assert _loads(text.encode("utf-8", "surrogatepass"))


def _loads(data: bytes) -> bool:
    class Quiet(pickle.Unpickler):
        def find_class(self, module, name):
            return lambda *arguments: None

    try:
        Quiet(io.BytesIO(data)).load()
    except EOFError:
        return False
    except Exception:
        return b"R" in data or b"i" in data or b"b" in data or b"o" in data  # it ran something before it failed
    return True


@given(
    st.recursive(
        SCALARS.filter(lambda v: not isinstance(v, bytes)), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
    )
)
def test_json_is_no_pickle(value):
    assert look(json.dumps(value).encode()) is None


@given(st.binary(min_size=3, max_size=500))
def test_any_bytes_never_raise(data):
    look(data)
    look(b"\x80\x04" + data)
    look(b"PK\3\4" + data + b"PK\5\6" + bytes(18))
    look(b"\x93NUMPY\1\0" + data)
    look(b"\x1f\x8b\x08" + data)
    look(b"(" + data)


@given(CONTAINERS, st.sampled_from(range(6)), st.data())
def test_changed_bytes_never_raise(value, protocol, data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("m/data.pkl", pickle.dumps(value, protocol))
    for whole in (
        bytearray(out.getvalue()),
        bytearray(pickle.dumps(value, protocol)),
        bytearray(gzip.compress(pickle.dumps(value, protocol))),
    ):
        for _ in range(data.draw(st.integers(1, 6))):
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        look(bytes(whole))


@pytest.mark.parametrize("size", [2**62, 2**64 - 1, 2**87])
def test_sizes_beyond_all_files(size):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("pickle"), io.BytesIO())
    data = bytearray(out.getvalue())
    data[124:136] = b"\x80" + size.to_bytes(11, "big")
    assert look(bytes(data)) is None
    end = b"PK\5\6" + bytes(8) + b"\xff" * 8 + bytes(2)
    for where in (0, min(size, 2**64 - 1)):
        record = b"PK\6\6" + bytes(36) + min(size, 2**64 - 1).to_bytes(8, "little") * 2
        look(record.replace(b"PK\6\6", b"PK\3\4", 1) + record + b"PK\6\7" + bytes(4) + where.to_bytes(8, "little") + bytes(4) + end)


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@given(CONTAINERS, st.sampled_from(range(6)), st.integers(0, 300))
def test_a_dangerous_import_is_seen_wherever_the_stream_breaks_behind_it(value, protocol, cut):
    """An unpickler runs what stands before the fault."""
    data = pickle.dumps([value, Call(os.system, "true"), list(range(100))], protocol)
    call = data.rindex(b"R") + 1  # REDUCE
    assert ("posix.system" if os.name == "posix" else "nt.system") in look(data[: max(call, len(data) - cut)] + b"\xff").dangerous


@settings(max_examples=30)
@given(st.integers(1, 2000), st.sampled_from(range(2, 6)))
def test_beyond_the_budget_imports_are_found_by_their_form(count, protocol):
    data = pickle.dumps([list(range(count)), Call(os.system, "true")], protocol)
    found = look(data, opcodes=10)
    assert found.dangerous


@pytest.mark.heavy
@pytest.mark.parametrize("data", [
    b"\x80\x04" + b"(" * 500_000, b"\x80\x04" + b"]" * 500_000 + b".", b"\x80\x04(" + b"K\1" * 500_000, b"\x80\x04" + b"\x94" * 500_000,
    b"\x80\x04\x8d" + (2**63).to_bytes(8, "little"), b"\x80\x04X\xff\xff\xff\xff", b"\x80\x02V" + b"x" * 2_000_000, b"\x80\x02c" + b"x" * 2_000_000, b"(" * 500_000,
    b"\x80\x04" + b"X\xff\0\0\0" + b"a" * 255 + b"\x94" * 50_000,
], ids=range(10))  # fmt: skip
def test_streams_that_promise_much_end_soon(data):
    tracemalloc.start()
    start = time.perf_counter()
    look(data)
    assert time.perf_counter() - start < 30  # traced memory makes it slow; two seconds without
    assert tracemalloc.get_traced_memory()[1] < 120 * 2**20
    tracemalloc.stop()


def test_archives_of_archives_end_soon():
    """A budget of members for all of them together, however deep they lie."""
    data = pickle.dumps({"a": 1})
    for _ in range(3):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for number in range(30):
                archive.writestr(f"{number}.pkl", data)
        data = out.getvalue()
    start = time.perf_counter()
    look(data, members=5_000)
    assert time.perf_counter() - start < 20


def test_a_bomb_is_not_unpacked():
    data = gzip.compress(bytes(200 * 2**20), 9)
    tracemalloc.start()
    assert look(data) is None
    assert tracemalloc.get_traced_memory()[1] < 80 * 2**20
    tracemalloc.stop()


def test_the_stack_is_followed_to_the_names():
    """Names that come through the memo, DUP, POP and other values are those that CPython takes."""
    random.seed(7)
    for _ in range(200):
        keys = random.sample(range(256), 2)
        data = (
            b"\x80\x04\x8c\x02osq"
            + bytes([keys[0]])
            + b"0\x8c\x06systemq"
            + bytes([keys[1]])
            + b"0N0(K\1K\2l0h"
            + bytes([keys[0]])
            + b"h"
            + bytes([keys[1]])
            + b"\x93."
        )
        stream = Stream(Memory(data), 0, 1000)
        stream.follow()
        assert stream.imports == {("os", "system")}
        assert stream.end == len(data)


@pytest.mark.parametrize(("module", "name", "wanted"), [
    ("os", "system", True), ("posix", "anything", True), ("builtins", "eval", True), ("builtins", "dict", False), ("builtins", "getattr", False), ("os.path", "join", False),
    ("torch.hub", "load", True), ("torch.hub.x", "y", True), ("torch", "load", True), ("torch._utils", "_rebuild_tensor_v2", False), ("a.b", "os.system", True), ("osx", "system", False),
    ("code", "interact", True), ("code.model", "Net", False), ("importlib.util", "find_spec", True), ("", "(a computed name)", True), ("test.support.x", "y", True), ("test.model", "M", False),
])  # fmt: skip
def test_dangerous_imports(module, name, wanted):
    assert is_dangerous(module, name) is wanted


def test_objects_of_the_standard_library_are_harmless():
    values = [
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        decimal.Decimal(1),
        fractions.Fraction(1, 2),
        collections.deque(),
        {1, 2},
        range(3),
        slice(1),
        ValueError("x"),
    ]
    assert not look(pickle.dumps(values, 4)).dangerous
