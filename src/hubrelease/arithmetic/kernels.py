"""The roundings: for each its name, its bytes, how finely its errors are counted, and the global scale of a shared set.

A kernel's name is that of its function in reference.py and (with `hubrelease_` before it) in native.c. What each does,
step by step, is in the docstring of the format that uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hubrelease.arithmetic.rounding import ROUND, f32
from hubrelease.arithmetic.values import SIZE, UNIT_BITS, Strip, Sums

TINY = {"BF16": 2.0**-126, "F16": 2.0**-14, "F32": 2.0**-126}


@dataclass(frozen=True, slots=True)
class Kernel:
    """`error_bits`, `source_bits` and `most_steps` say how errors are counted (see Sums); `rows_of` and `columns_of` are what a
    strip's sides must be multiples of; `scale_rows` and `scale_columns` are the extent of one scale (0: the whole row);
    `scale_bytes` is its size (0: that of a source number)."""

    name: str
    error_bits: int
    source_bits: int
    most_steps: int
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
        """Sums from {exponent field of a step: squares times the square of the step's significand, a whole number}."""
        return Sums(in_units(errors, self.error_bits), in_units(sources, self.source_bits), largest)


def in_units(squares: dict[int, int], bits: int) -> int:
    """A step is its significand times 2^(field - 150)."""
    return sum(count << 2 * (field - 150 - bits + UNIT_BITS) for field, count in squares.items())


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
        Kernel("fp8_block", 9, 4, 32, 8, 128, 128, 128, 128, 4),
        Kernel("fp8_channel", 9, 4, 32, 8, 1, 1, 1, 0, 0),
        Kernel("nvfp4_divisor", 11, 10, 4, 4, 1, 16, 1, 16, 1, divisor),
        Kernel("nvfp4_multiplier", 11, 10, 4, 4, 1, 16, 1, 16, 1, multiplier),
        Kernel("int8", 12, 5, 4, 8, 1, 128, 1, 128, 0),
        Kernel("int4", 12, 9, 4, 4, 1, 128, 1, 128, 0),
        Kernel("to_bf16", 13, 5, 4, 16, 1, 1, 0, 0, 0),
    )
}
