"""Weights for parity tests, the same on every machine: made from SHA-256 and whole numbers, no libm, no torch.

`SAMPLES` has one of each class that section 4 of the arithmetic's reference names, and more: several scales, outliers, ties, zero
groups, blocks and tensors, subnormals, numbers at both ends of the range, every finite BF16 pattern, minus zeros, F16
and F32, and one set (q, k, v) that shares a global scale.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

SIZE = {"BF16": 2, "F16": 2, "F32": 4}


@dataclass(frozen=True)
class Sample:
    name: str
    dtype: str
    rows: int
    columns: int
    data: bytes
    fused: str = ""  # samples with the same word share a global scale


def noise(seed: str, count: int) -> array:
    """Unsigned 16-bit numbers."""
    blocks = (hashlib.sha256(f"{seed}/{n}".encode()).digest() for n in range(-(-count // 16)))
    return array("H", b"".join(blocks))[:count]


def bell(seed: str, count: int, scale: float) -> list[float]:
    """Four uniform numbers added: near a normal distribution of this scale. Exact but for the last product."""
    n = noise(seed, 4 * count)
    return [(n[i] + n[i + 1] + n[i + 2] + n[i + 3] - 131070) / 37837.0 * scale for i in range(0, 4 * count, 4)]


def bf16(values: Iterable[float]) -> bytes:
    """To the nearest BF16, ties to even; what is too large becomes the largest finite number."""
    bits = array("I", array("f", values).tobytes())
    return array("H", [min((b & 0x7FFFFFFF) + 0x7FFF + (b >> 16 & 1) >> 16, 0x7F7F) | b >> 16 & 0x8000 for b in bits]).tobytes()


def patterns(limit: float | None = None) -> bytes:
    """Every finite BF16 number, and zeros up to 65536; beyond `limit` it takes their place."""
    bits = [b if b & 0x7F80 != 0x7F80 else 0 for b in range(65536)]
    if limit is None:
        return array("H", bits).tobytes()
    values = (struct.unpack("<f", struct.pack("<I", b << 16))[0] for b in bits)
    return bf16(max(-limit, min(limit, v)) for v in values)


def ties() -> Iterator[float]:
    """Rows of numbers halfway between codes, for each format in turn, at several powers of two.

    Each 16 hold the format's largest number, so that its scale is a power of two (or as near as its arithmetic gets).
    """
    e4m3 = [(8 + m + 0.5) * 2.0 ** (e - 3) for e in range(-6, 9) for m in range(8) if (8 + m + 0.5) * 2.0 ** (e - 3) < 448]
    e2m1 = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
    whole = [n + 0.5 for n in range(7)]
    for row in range(128):
        halves, top = ((e4m3, 448.0), (e2m1, 6.0), (whole, 7.5), ([n + 0.5 for n in range(127)], 127.5))[row % 4]
        power = 2.0 ** (row // 4 % 9 - 8)
        for column in range(256):
            value = top if column % 16 == 0 else halves[(row * 7 + column) % len(halves)]
            yield (value if column % 3 else -value) * power


def zeroed(values: list[float], columns: int, is_zero: Callable[[int, int], bool], instead: float = 0.0) -> list[float]:
    return [instead if is_zero(i // columns, i % columns) else v for i, v in enumerate(values)]


def tiny_groups(values: list[float]) -> list[float]:
    first = zeroed(values, 256, lambda r, c: (r + c // 16) % 5 == 0, 1e-30)
    return zeroed(first, 256, lambda r, c: (r + c // 16) % 7 == 0, -1e-38)


def with_value(values: list[float], place: int, value: float) -> list[float]:
    return [*values[:place], value, *values[place + 1 :]]


def signs(count: int) -> bytes:
    """Zeros of both signs between small numbers."""
    return array("H", [(0x8000 if n & 1 else 0) | (0x3C00 if n % 5 == 0 else 0) for n in noise("signs", count)]).tobytes()


def subnormals(count: int) -> bytes:
    return array("H", [n & 0x807F for n in noise("subnormals", count)]).tobytes()


SHAPE = (128, 256)
COUNT = 128 * 256


def made() -> Iterator[Sample]:
    for scale in (0.02, 1e-4, 30.0, 1e-20, 1e-36, 1e30):
        yield Sample(f"scale {scale:g}", "BF16", *SHAPE, bf16(bell(f"scale{scale}", COUNT, scale)))
    yield Sample("q with 9.5", "BF16", *SHAPE, bf16(with_value(bell("q", COUNT, 0.02), 12345, 9.5)), "qkv")
    yield Sample("k", "BF16", *SHAPE, bf16(bell("k", COUNT, 0.05)), "qkv")
    yield Sample("v", "BF16", *SHAPE, bf16(bell("v", COUNT, 0.01)), "qkv")
    yield Sample("outlier 37", "BF16", *SHAPE, bf16(with_value(bell("outlier", COUNT, 0.02), 777, -37.0)))
    yield Sample("zero groups", "BF16", *SHAPE, bf16(zeroed(bell("groups", COUNT, 0.02), 256, lambda r, c: (r + c // 16) % 3 == 0)))
    yield Sample("zero block", "BF16", *SHAPE, bf16(zeroed(bell("block", COUNT, 0.02), 256, lambda r, c: c >= 128)))
    yield Sample("zero row", "BF16", *SHAPE, bf16(zeroed(bell("row", COUNT, 0.02), 256, lambda r, c: r % 9 == 4)))
    yield Sample("zeros", "BF16", *SHAPE, bytes(2 * COUNT))
    yield Sample("tiny groups", "BF16", *SHAPE, bf16(tiny_groups(bell("tiny", COUNT, 0.02))))
    yield Sample("ties", "BF16", *SHAPE, bf16(ties()))
    yield Sample("signs", "BF16", *SHAPE, signs(COUNT))
    yield Sample("subnormals", "BF16", *SHAPE, subnormals(COUNT))
    yield Sample("patterns to 100", "BF16", 256, 256, patterns(100.0))
    yield Sample("patterns", "BF16", 256, 256, patterns())
    yield Sample("F16", "F16", *SHAPE, b"".join(struct.pack("<e", v) for v in bell("half", COUNT, 0.05)))
    yield Sample("F16 under 0.041", "F16", *SHAPE, b"".join(struct.pack("<e", v) for v in bell("small half", COUNT, 0.005)))
    yield Sample("F32 at 1e-40", "F32", *SHAPE, array("f", bell("small single", COUNT, 1e-40)).tobytes())
    yield Sample("F32", "F32", *SHAPE, array("f", bell("single", COUNT, 0.02)).tobytes())


SAMPLES = tuple(made())


def amax(sample: Sample) -> float:
    """The largest magnitude of the sample's set. The sets here are BF16."""
    return max(own_amax(s) for s in SAMPLES if s is sample or (s.fused and s.fused == sample.fused))


def own_amax(sample: Sample) -> float:
    code = {"BF16": "H", "F16": "e", "F32": "f"}[sample.dtype]
    numbers = struct.iter_unpack(f"<{code}", sample.data)
    if sample.dtype == "BF16":
        bits = max(b & 0x7FFF for (b,) in numbers)
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    return max(abs(x) for (x,) in numbers)
