"""The roundings: for each its name, its bytes, how finely its errors are counted, and the global scale of a shared set.

A kernel's name is that of its function in reference.py and (with `hubrelease_` before it) in native.c. What each does,
step by step, is in the docstring of the format that uses it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from hubrelease.arithmetic.values import SIZE, UNIT_BITS, Strip, Sums

EXPONENT_BIAS = 127
TINY = {"BF16": 2.0**-126, "F16": 2.0**-14, "F32": 2.0**-126}


@dataclass(frozen=True, slots=True)
class Kernel:
    """`rows_of` and `columns_of` are what a strip's sides must be multiples of; `scale_rows` and `scale_columns` are the
    extent of one scale (0: the whole row); `scale_bytes` is its size (0: that of a source number)."""

    name: str
    error_bits: int
    source_bits: int
    code_bits: int
    rows_of: int
    columns_of: int
    scale_rows: int
    scale_columns: int
    scale_bytes: int
    shared: Callable[[float, str], float] | None = None

    def code_bytes(self, rows: int, columns: int) -> int:
        return rows * columns * self.code_bits // 8

    def scales_bytes(self, rows: int, columns: int, dtype: str) -> int:
        if not self.scale_rows:
            return 0
        return rows // self.scale_rows * (columns // (self.scale_columns or columns)) * (self.scale_bytes or SIZE[dtype])

    def check(self, strip: Strip, dtypes: tuple[str, ...]) -> None:
        """Raises ValueError if strips like this one can't be rounded."""
        if strip.dtype not in dtypes:
            raise ValueError(f"{self.name} takes {', '.join(dtypes)} here, not {strip.dtype}")
        if strip.rows < 1 or strip.columns < 1 or strip.rows % self.rows_of or strip.columns % self.columns_of:
            raise ValueError(f"{self.name} takes multiples of {self.rows_of} x {self.columns_of}, not {strip.rows} x {strip.columns}")

    def shared_scale(self, shared_amax: float | None, dtype: str) -> float | None:
        """The global scale of a set; None for kernels without one. Raises ValueError if its maximum is missing or too much."""
        if (shared_amax is None) != (self.shared is None):
            raise ValueError(f"{self.name} {'needs' if self.shared else 'has no'} shared maximum")
        return None if self.shared is None or shared_amax is None else self.shared(shared_amax, dtype)

    def sums(self, errors: dict[int, int], sources: dict[int, int], largest: float) -> Sums:
        """Sums of whole numbers counted by the exponent field of the power of two that they are relative to."""
        return Sums(in_units(errors, self.error_bits), in_units(sources, self.source_bits), largest)


def in_units(squares: dict[int, int], bits: int) -> int:
    return sum(count << 2 * (field - EXPONENT_BIAS - bits + UNIT_BITS) for field, count in squares.items())


def f32(x: float) -> float:
    """To the nearest binary32 number. A quotient or product of two of them comes out right: binary64 has room for both."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")
    return rounded


def bf16(x: float) -> float:
    (bits,) = struct.unpack("<I", struct.pack("<f", f32(x)))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    rounded: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return rounded


def f16(x: float) -> float:
    try:
        rounded: float = struct.unpack("<e", struct.pack("<e", f32(x)))[0]
    except OverflowError:
        return float("inf")
    return rounded


ROUND: dict[str, Callable[[float], float]] = {"BF16": bf16, "F16": f16, "F32": f32}


def divisor(amax: float, dtype: str) -> float:
    """compressed-tensors' `generate_gparam` of a maximum in `dtype`: the reciprocal of the maximum (at least the smallest
    normal number), rounded to `dtype`, times 2688, rounded to `dtype` again; 1 if that is infinite."""
    rounded = ROUND[dtype]
    found = rounded(f32(rounded(f32(1.0 / max(rounded(amax), TINY[dtype]))) * 2688.0))
    return found if found < float("inf") else 1.0


def multiplier(amax: float, _dtype: str) -> float:
    """ModelOpt's `weight_scale_2`: the maximum over 2688 in binary32; 1 where that is 0, where ModelOpt keeps the 0 and
    writes NaN as scales."""
    return f32(f32(amax) / 2688.0) or 1.0


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("fp8_block", 9, 4, 8, 128, 128, 128, 128, 4),
        Kernel("fp8_channel", 9, 4, 8, 1, 1, 1, 0, 0),
        Kernel("nvfp4_divisor", 11, 9, 4, 1, 16, 1, 16, 1, divisor),
        Kernel("nvfp4_multiplier", 11, 9, 4, 1, 16, 1, 16, 1, multiplier),
        Kernel("int8", 12, 5, 8, 1, 128, 1, 128, 0),
        Kernel("int4", 12, 9, 4, 1, 128, 1, 128, 0),
        Kernel("to_bf16", 20, 13, 16, 1, 1, 0, 0, 0),
    )
}
