"""The rounding rules as the formats' docstrings tell them, number by number in Python: slow, and shares no line with the rest.

    codes, scales = nvfp4a16(numbers, columns, largest_of_the_set)

`numbers` are BF16 numbers as Python floats, row after row; codes and scales are the bytes that a file has.
"""

from __future__ import annotations

import bisect
import math
import struct
from collections.abc import Callable, Sequence

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E4M3 = tuple((m / 8 if e == 0 else 1 + m / 8) * 2.0 ** (max(e, 1) - 7) for e in range(16) for m in range(8))[:127]
Bytes = tuple[bytes, bytes]


def f32(x: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def bf16(x: float) -> float:
    """Of a binary32 number: the nearer of the two BF16 numbers around it, the even one of two that are as near."""
    if math.isinf(x):
        return x
    (bits,) = struct.unpack("<I", struct.pack("<f", x))
    low, high = float_of(bits & 0xFFFF0000), math.copysign(above(bits >> 16), x)
    if abs(x - low) != abs(high - x):
        return low if abs(x - low) < abs(high - x) else f32(high)
    return low if bits >> 16 & 1 == 0 else f32(high)


def above(bits: int) -> float:
    """The magnitude after that of a BF16 number; after the last comes 2^128, which is infinite once it is rounded to."""
    return 2.0**128 if bits & 0x7FFF == 0x7F7F else float_of(((bits & 0x7FFF) + 1) << 16)


def float_of(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def nearest(x: float, values: Sequence[float]) -> int:
    """The code whose value is nearest to x, from 0 to the last value; the even code of two."""
    right = bisect.bisect_left(values, x)
    return min(range(max(right - 1, 0), right + 1), key=lambda code: (abs(values[code] - x), code & 1))


def is_negative(x: float) -> bool:
    return math.copysign(1.0, x) < 0


def rows_of(numbers: Sequence[float], columns: int) -> list[Sequence[float]]:
    return [numbers[start : start + columns] for start in range(0, len(numbers), columns)]


def nibbles(codes: Sequence[int]) -> bytes:
    return bytes(codes[i] | codes[i + 1] << 4 for i in range(0, len(codes), 2))


def fp8_code(x: float) -> int:
    return nearest(min(abs(x), 448.0), E4M3) | (0x80 if is_negative(x) else 0)


def fp8_block(numbers: Sequence[float], columns: int, _largest: float) -> Bytes:
    rows = rows_of(numbers, columns)
    codes, scales = [bytearray(columns) for _ in rows], b""
    for top in range(0, len(rows), 128):
        for left in range(0, columns, 128):
            inside = [(r, c) for r in range(top, top + 128) for c in range(left, left + 128)]
            a = max(abs(rows[r][c]) for r, c in inside)
            f = f32(f32(1 / a) * 448) if a else math.inf
            scales += struct.pack("<f", 1.0 if math.isinf(f) else f32(1 / f))
            for r, c in inside:
                codes[r][c] = fp8_code(rows[r][c] * 0.0 if math.isinf(f) else f32(rows[r][c] * f))
    return b"".join(codes), scales


def fp8_dynamic(numbers: Sequence[float], columns: int, _largest: float) -> Bytes:
    codes, scales = bytearray(), b""
    for row in rows_of(numbers, columns):
        s = bf16(f32(max(map(abs, row)) / 448)) or 2.0**-7
        codes += bytes(fp8_code(bf16(f32(x / s))) for x in row)
        scales += struct.pack("<f", s)[2:]
    return bytes(codes), scales


def e2m1_code(x: float) -> int:
    bounds = (abs(x) > 0.25, abs(x) >= 0.75, abs(x) > 1.25, abs(x) >= 1.75, abs(x) > 2.5, abs(x) >= 3.5, abs(x) > 5)
    return sum(bounds) | (8 if x < 0 else 0)


def nvfp4a16(numbers: Sequence[float], columns: int, largest: float) -> Bytes:
    g = bf16(f32(bf16(f32(1 / max(largest, 2.0**-126))) * 2688))
    g = 1.0 if math.isinf(g) else g
    codes: list[int] = []
    scales = bytearray()
    for group in rows_of(numbers, 16):
        code = nearest(min(f32(g * bf16(f32(max(map(abs, group)) / 6))), 448.0), E4M3)
        s = E4M3[code] or 0.125
        scales.append(E4M3.index(s))
        codes += [e2m1_code(f32(x / f32(s / g))) for x in group]
    return nibbles(codes), bytes(scales)


def modelopt_nvfp4(numbers: Sequence[float], columns: int, largest: float) -> Bytes:
    s2 = f32(largest / 2688) or 1.0
    codes: list[int] = []
    scales = bytearray()
    for group in rows_of(numbers, 16):
        b = f32(max(map(abs, group)) / f32(6 * s2)) or 1.0
        scales.append(nearest(min(max(b, 2.0**-9), 448.0), E4M3))
        codes += [e2m1_code(f32(x / f32(E4M3[scales[-1]] * s2))) for x in group]
    return nibbles(codes), bytes(scales)


def integers(numbers: Sequence[float], half: int) -> tuple[list[int], bytes]:
    codes: list[int] = []
    scales = b""
    for group in rows_of(numbers, 128):
        s = bf16(f32(max(map(abs, group)) / (half - 0.5))) or 2.0**-7
        codes += [round(min(max(bf16(f32(x / s)), -half), half - 1)) + half for x in group]
        scales += struct.pack("<f", s)[2:]
    return codes, scales


def w8a16(numbers: Sequence[float], _columns: int, _largest: float) -> Bytes:
    codes, scales = integers(numbers, 128)
    return bytes(codes), scales


def w4a16(numbers: Sequence[float], _columns: int, _largest: float) -> Bytes:
    codes, scales = integers(numbers, 8)
    return nibbles(codes), scales


RULES: dict[str, Callable[[Sequence[float], int, float], Bytes]] = {
    "fp8_block": fp8_block,
    "fp8_dynamic": fp8_dynamic,
    "nvfp4a16": nvfp4a16,
    "modelopt_nvfp4": modelopt_nvfp4,
    "w8a16": w8a16,
    "w4a16": w4a16,
}
