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


RUN = 2**20  # neighbours are read together up to this size

Row = tuple[str, Located]


def read_all(release: Release, tensors: Iterable[Row]) -> Iterator[tuple[str, Located, bytes]]:
    """(name, tensor, bytes) of small tensors, and of larger ones until LARGE is spent (all with `deep`). OSError.

    Each file is opened once, and tensors that lie side by side are read in one piece.
    """
    limit: float = math.inf if release.deep else LARGE
    by_file: dict[str, list[Row]] = {}
    for row in tensors:
        by_file.setdefault(row[1].file, []).append(row)
    for file, rows in by_file.items():
        header = release.containers.all[file].header
        if header is None or file in release.partial:
            continue
        rows.sort(key=lambda row: row[1].tensor.begin)
        wanted = []
        for row in rows:
            size = row[1].tensor.size
            if size <= SMALL or size <= limit:
                limit -= size if size > SMALL else 0
                wanted.append(row)
        fd, _ = release.folder.open_file(file)
        try:
            for run in runs(wanted):
                yield from split_run(run, fd, header.data_start)
        finally:
            os.close(fd)


def runs(rows: list[Row]) -> Iterator[list[Row]]:
    """Rows whose tensors follow each other without a gap, at most RUN bytes together."""
    run: list[Row] = []
    for row in rows:
        tensor = row[1].tensor
        if run and (tensor.begin != run[-1][1].tensor.end or tensor.end - run[0][1].tensor.begin > RUN):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def split_run(run: list[Row], fd: int, start: int) -> Iterator[tuple[str, Located, bytes]]:
    begin = run[0][1].tensor.begin
    data = os.pread(fd, run[-1][1].tensor.end - begin, start + begin)
    for name, located in run:
        tensor = located.tensor
        piece = data[tensor.begin - begin : tensor.end - begin]
        if len(piece) == tensor.size:
            yield name, located, piece


class Reading(NamedTuple):
    """What a tensor of scales holds: how many values are not finite, negative, zero; the largest; the bytes of a scalar."""

    not_finite: int
    negative: int
    zero: int
    largest: float
    scalar: bytes


def read(dtype: str, data: bytes) -> Reading:
    if dtype == "F32" and len(data) == 4:  # most scales of an expert model are such scalars
        (value,) = struct.unpack("<f", data)
        finite = math.isfinite(value)
        return Reading(int(not finite), int(value < 0), int(value == 0), value if finite and value > 0 else 0.0, data)
    return Reading(
        not_finite(dtype, data), negative(dtype, data), zeros(dtype, data), largest(dtype, data), data if len(data) <= 8 else b""
    )


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
    if width is None or not data:
        return 0
    high = data[width - 1 :: width]
    if b"\0" not in high and b"\x80" not in high:
        return 0
    return high.count(0) + high.count(0x80) if width == 1 else sum(value == 0 for value in numbers(dtype, data))


EXACT = 4096  # values; of more, BF16 and F32 are judged by their high bytes


def largest(dtype: str, data: bytes) -> float:
    """The largest finite value, 0.0 if there is none above it; of very many BF16 or F32 values a bound at most four times as large."""
    if dtype == "F8_E4M3":
        return e4m3()[next((byte for byte in range(0x7E, 0, -1) if byte in data), 0)]
    if dtype in ("F8_E8M0", "U8"):
        top = next((byte for byte in range(0xFE, -1, -1) if byte in data), None)
        return 0.0 if top is None else math.ldexp(1.0, top - 127)
    width = WIDTH.get(dtype, 0)
    if dtype in ("BF16", "F32") and len(data) > EXACT * width:
        high = data[width - 1 :: width]
        top = next((byte for byte in range(0x7E, 0, -1) if byte in high), 0)
        return float(struct.unpack("<f", bytes([0xFF, 0xFF, 0xFF, top]))[0])
    return max((value for value in numbers(dtype, data) if math.isfinite(value) and value > 0), default=0.0)


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
