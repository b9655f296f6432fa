"""What scale tensors hold: NaN, infinities, zeros, signs, the largest value. struct and bytes alone, at the speed of memchr.

The high byte of a float tells its sign and whether it can be special; so a tensor of scales is judged by slices and
translation tables, and numbers are unpacked only where one is wanted.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hubrelease.containers import Located

if TYPE_CHECKING:
    from hubrelease.release import Release

SMALL = 64 * 2**10  # always read
LARGE = 256 * 2**20  # bytes of larger scale tensors that are read in all; the rest only with `release.deep`


class Read(NamedTuple):
    """A tensor's name, place and bytes."""

    name: str
    located: Located
    data: bytes


def read_all(release: Release, tensors: Iterable[tuple[str, Located]]) -> Iterator[Read]:
    """The bytes of small tensors, and of larger ones until LARGE is spent (all with `deep`); each file is opened once. OSError."""
    limit: float = math.inf if release.deep else LARGE
    by_file: dict[str, list[tuple[str, Located]]] = {}
    for name, located in tensors:
        by_file.setdefault(located.file, []).append((name, located))
    for file, rows in by_file.items():
        header = release.containers.all[file].header
        if header is None or file in release.partial:
            continue
        fd, _ = release.folder.open_file(file)
        try:
            for name, located in sorted(rows, key=lambda row: row[1].tensor.begin):
                size = located.tensor.size
                if size > SMALL:
                    if size > limit:
                        continue
                    limit -= size
                data = os.pread(fd, size, header.data_start + located.tensor.begin)
                if len(data) == size:
                    yield Read(name, located, data)
        finally:
            os.close(fd)


# ------------------------------------------------------------------------------------------------------------ specials

WIDTH = {"F32": 4, "BF16": 2, "F16": 2, "F64": 8}
POSITIVE = bytes(range(0x80))
EXPONENT = {"F32": 0x7F, "BF16": 0x7F, "F64": 0x7F, "F16": 0x7C}  # bits of the high byte that NaN and infinity have set
ORDINARY = {mask: bytes(b for b in range(256) if b & mask != mask) for mask in (0x7F, 0x7C)}


def not_finite(dtype: str, data: bytes) -> int:
    """How many values are NaN or infinite. E4M3 has the NaN codes 0x7F and 0xFF; E8M0 has 0xFF."""
    if dtype in ("F8_E4M3", "F8_E4M3FN"):
        return data.count(b"\x7f") + data.count(b"\xff")
    if dtype == "F8_E8M0":
        return data.count(b"\xff")
    if dtype == "F8_E5M2":
        return len(data.translate(None, bytes(b for b in range(256) if b & 0x7C != 0x7C)))
    width = WIDTH.get(dtype)
    if width is None or not data[width - 1 :: width].translate(None, ORDINARY[EXPONENT[dtype]]):
        return 0
    return sum(not math.isfinite(value) for value in numbers(dtype, data))


def negative(dtype: str, data: bytes) -> int:
    """How many values have their sign set, -0 left out where a number is small enough to be it."""
    width = 1 if dtype.startswith("F8_E4M3") or dtype == "F8_E5M2" else WIDTH.get(dtype)
    if width is None or not data[width - 1 :: width].translate(None, POSITIVE):
        return 0
    return sum(value < 0 for value in numbers(dtype, data))


def zeros(dtype: str, data: bytes) -> int:
    width = 1 if dtype.startswith("F8_E4M3") else WIDTH.get(dtype)
    if width is None or not {0x00, 0x80} & set(data[width - 1 :: width]):
        return 0
    return sum(value == 0 for value in numbers(dtype, data))


def largest(dtype: str, data: bytes) -> float:
    """The largest finite value, 0.0 if there is none above it."""
    if not data:
        return 0.0
    if dtype == "F8_E4M3":
        return e4m3()[max(data.translate(None, bytes([0x7F, *range(0x80, 0x100)])), default=0)]
    if dtype in ("F8_E8M0", "U8"):
        top = max(data.translate(None, b"\xff"), default=0)
        return math.ldexp(1.0, top - 127)
    if dtype in ("BF16", "F32"):  # positive floats are ordered as their bits are
        high = data[WIDTH[dtype] - 1 :: WIDTH[dtype]]
        if not high.translate(None, bytes(range(0x7F))):  # all positive and finite
            top = max(struct.iter_unpack("<H" if dtype == "BF16" else "<I", data))[0]
            return float(struct.unpack("<f", struct.pack("<I", top << 16 if dtype == "BF16" else top))[0])
    return max((v for v in numbers(dtype, data) if math.isfinite(v)), default=0.0)


def powers_of_two(dtype: str, data: bytes) -> bool:
    """True if every value of an F32 or BF16 tensor is a power of two: the mantissa has no bit set."""
    if dtype == "F32":
        low = data[0::4].count(0) == data[1::4].count(0) == len(data) // 4
        return low and not data[2::4].translate(None, b"\x00\x80")
    return dtype != "BF16" or not data[0::2].translate(None, b"\x00\x80")


# ------------------------------------------------------------------------------------------------------------- numbers


def numbers(dtype: str, data: bytes) -> Iterator[float]:
    """The values of a tensor of floats, one by one."""
    if dtype.startswith("F8_E4M3"):
        table = e4m3()
        return (table[byte] for byte in data)
    if dtype in ("F8_E8M0", "U8"):
        return (math.ldexp(1.0, byte - 127) for byte in data)
    if dtype == "BF16":
        return (struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data) - 1, 2))
    code = {"F32": "<f", "F16": "<e", "F64": "<d"}.get(dtype)
    return (value for (value,) in struct.iter_unpack(code, data)) if code else iter(())


def first(dtype: str, data: bytes) -> float | None:
    """The value of a scalar."""
    return next(numbers(dtype, data), None)


@cache
def e4m3() -> tuple[float, ...]:
    """The 256 values of E4M3 in its finite variant: no infinities, NaN at 0x7F and 0xFF, largest 448."""
    return tuple(e4m3_value(byte) for byte in range(256))


def e4m3_value(byte: int) -> float:
    exponent, mantissa, sign = byte >> 3 & 15, byte & 7, -1.0 if byte & 0x80 else 1.0
    if byte & 0x7F == 0x7F:
        return math.nan
    return sign * (math.ldexp(mantissa, -9) if exponent == 0 else math.ldexp(8 + mantissa, exponent - 10))
