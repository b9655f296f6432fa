from __future__ import annotations

import struct

import pytest
from weight_files import ARRAY, STRING, U32, gguf, judged, key, one, text

WEIGHT = {"w": (0, [4], bytes(16))}
OK = key("general.architecture", STRING, text("llama"))


@pytest.mark.parametrize("data", [
    b"GGML" + gguf()[4:], gguf(version=1), gguf(version=4), gguf(version=0),
    b"GGUF" + struct.pack("<IQQ", 3, 2**62, 0) + bytes(100), b"GGUF" + struct.pack("<IQQ", 3, 0, 2**62) + bytes(100),
    gguf(WEIGHT, OK + OK, 2), gguf(WEIGHT, key("", STRING, text("x")), 1), gguf(WEIGHT, key("k", 13, b""), 1), gguf(WEIGHT, key("k", 2**31, b""), 1),
    gguf(WEIGHT, key("k", ARRAY, struct.pack("<IQ", ARRAY, 1)), 1), gguf(WEIGHT, text(b"\xff\xfe") + struct.pack("<IB", 0, 1), 1),
    gguf(WEIGHT, key("general.alignment", U32, struct.pack("<I", 0)), 1), gguf(WEIGHT, key("general.alignment", U32, struct.pack("<I", 24)), 1),
    gguf(WEIGHT, key("general.alignment", 10, struct.pack("<Q", 32)), 1),
    gguf({"w": (0, [1, 1, 1, 1, 4], bytes(16))}), gguf({"w": (2, [33], bytes(18))}), gguf({"w": (12, [128], bytes(144))}),
    gguf({"w": (0, [2**40, 2**40], bytes(16))}), gguf({"w": (0, [2**63], bytes(16))}),
], ids=range(20))  # fmt: skip
def test_bad_what_llama_cpp_refuses(tmp_path, data):
    found = one(tmp_path, {"model.gguf": data})
    assert (found.kind, found.severity, found.where.file) == ("gguf-invalid", "error", "model.gguf")


def test_bad_a_tensor_twice(tmp_path):
    data = gguf({"aa": (0, [4], bytes(16)), "ab": (0, [4], bytes(16))}).replace(text("ab"), text("aa"))
    assert "stands twice" in one(tmp_path, {"m.gguf": data}).message


def test_bad_offsets(tmp_path):
    data = gguf({"a": (0, [4], bytes(16)), "b": (0, [4], bytes(16))})
    assert "offset 64" in one(tmp_path, {"m.gguf": data.replace(struct.pack("<IQ", 0, 32), struct.pack("<IQ", 0, 64))}).message


@pytest.mark.parametrize("data", [gguf({"w": (139, [256], bytes(144))}), gguf(WEIGHT) + bytes(4096), gguf({"n" * 64: (0, [4], bytes(16))})],
                         ids=["a fork's type", "bytes behind", "a long name"])  # fmt: skip
def test_bad_as_a_warning(tmp_path, data):
    assert judged(tmp_path, {"m.gguf": data}) == [("gguf-invalid", "warning", "m.gguf")]


@pytest.mark.parametrize("data", [
    gguf(), gguf(version=2), gguf({}), gguf(alignment=64), gguf({"w": (12, [256, 4], bytes(144 * 4)), "s": (0, [], bytes(4)), "q": (2, [32, 3], bytes(54))}),
    gguf({f"blk.{n}.attn_q.weight": (30, [8, 8], bytes(128)) for n in range(100)}), gguf({"w": (0, [4], bytes(16))})[:-16],  # no padding behind the last
], ids=range(7))  # fmt: skip
def test_good_files(tmp_path, data):
    assert not judged(tmp_path, {"m.gguf": data, "other-Q8_0.gguf": gguf()})


def test_good_big_endian(tmp_path):
    rows = [("general.architecture", 8, b"llama")]
    head = b"".join(struct.pack(">Q", len(n)) + n.encode() + struct.pack(">IQ", k, len(v)) + v for n, k, v in rows)
    start = b"GGUF" + struct.pack(">IQQ", 3, 1, 1) + head + struct.pack(">Q", 1) + b"w" + struct.pack(">IQIQ", 1, 4, 0, 0)
    assert not judged(tmp_path, {"m-be.gguf": start + bytes(-len(start) % 32) + bytes(32)})
