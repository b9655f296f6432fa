"""What w8a16 and w4a16 share: compressed-tensors' `pack-quantized`."""

from __future__ import annotations

import struct

from hubrelease.formats._format import CODES, SCALES, Constants, Part, Parts

GROUP = 128


def parts_of(bits: int) -> Parts:
    def parts(rows: int, columns: int, dtype: str) -> tuple[Part, ...]:
        return (
            Part(".weight_packed", "I32", (rows, columns * bits // 32), CODES),
            Part(".weight_scale", dtype, (rows, columns // GROUP), SCALES),
            Part(".weight_shape", "I64", (2,)),
        )

    return parts


def constants_of() -> Constants:
    def constants(_shared: float | None, _input: float | None, shape: tuple[int, int], _dtype: str) -> dict[str, bytes]:
        return {".weight_shape": struct.pack("<2q", *shape)}

    return constants
