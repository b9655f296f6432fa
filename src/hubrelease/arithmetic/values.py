"""What an encoder takes and gives: a Strip of rows, the Encoded codes and scales, the exact Sums of its errors."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

SIZE = {"BF16": 2, "F16": 2, "F32": 4}
"""Bytes a number, of the dtypes that a weight can be quantised from."""

INFINITE = {"BF16": 0x7F80, "F16": 0x7C00, "F32": 0x7F800000}
"""Bits of infinity; above them are the NaNs."""

UNIT_BITS = 165
"""Sums count in units of 4^-165, fine enough that every square an encoder finds is a whole number of them."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Whole rows of a weight, little-endian and row after row. A writable buffer is not copied before it is read."""

    data: Buffer
    dtype: str
    rows: int
    columns: int

    def __post_init__(self) -> None:
        if memoryview(self.data).nbytes != self.rows * self.columns * SIZE[self.dtype]:
            raise ValueError(f"{memoryview(self.data).nbytes} bytes are not {self.rows} x {self.columns} of {self.dtype}")


@dataclass(frozen=True, slots=True)
class Sums:
    """What rounding did to some rows. `a + b` is exact: strips may come in any number and order, on any path or device.

    Squares are whole numbers of 4^-UNIT_BITS. A step is what a number's code is multiplied by. Numbers of a block, a row, a
    group or (NVFP4) 1024 columns of a row are counted together: D is the largest step among them, t a number's step / D,
    q the number / its step, c the value of its code, without signs and each in binary32. `error_squares` adds up
    (D round(2^k min(|q - c|, n) t) / 2^k)^2 and `source_squares` (D round(2^j q t) / 2^j)^2; k, j and n are the kernel's
    (kernels.py), and more than n steps an error has only where a scale is subnormal. `largest` is the largest |q - c|.
    """

    error_squares: int
    source_squares: int
    largest: float

    def __add__(self, other: Sums) -> Sums:
        errors, sources = self.error_squares + other.error_squares, self.source_squares + other.source_squares
        return Sums(errors, sources, max(self.largest, other.largest))

    @property
    def relative(self) -> float:
        """Frobenius norm of (dequantised - source) over that of the source; 0 where the source is 0."""
        return math.sqrt(self.error_squares / self.source_squares) if self.source_squares else 0.0


NOTHING = Sums(0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Bytes of the codes and of the scales, in file order. They may lie in memory that the encoder's next call reuses."""

    codes: memoryview
    scales: memoryview
    sums: Sums


class Encoder(Protocol):
    """Rounds strips of one format on one device. It keeps buffers: one thread at a time, each its own."""

    @property
    def path(self) -> str:
        """Its name, as in paths.py."""

    @property
    def dtypes(self) -> tuple[str, ...]: ...

    def amax(self, strip: Strip) -> float:
        """The largest magnitude, exactly. Raises NotFinite."""

    def encode(self, strip: Strip, shared_amax: float | None = None) -> Encoded:
        """Raises NotFinite; ValueError where the strip or `shared_amax` is not one for this format."""


class NotFinite(Exception):
    """A number that no code can stand for; row and column count from 0, within the strip."""

    def __init__(self, row: int, column: int, value: str) -> None:
        self.row, self.column, self.value = row, column, value
        super().__init__(f"{value} in row {row}, column {column}")


class PathMissing(Exception):
    """The path asked for is not there on this machine; the text says why."""


def first_not_finite(strip: Strip, limit: int | None = None) -> NotFinite:
    """Where the strip's first NaN or infinity is, or first number whose bits without sign reach `limit`. Slow; for a strip
    that is known to have one."""
    size = SIZE[strip.dtype]
    code = {2: "H", 4: "I"}[size]
    sign = 1 << (8 * size - 1)
    infinite = INFINITE[strip.dtype]
    for number, (bits,) in enumerate(struct.iter_unpack(f"<{code}", strip.data)):
        magnitude = bits & (sign - 1)
        if magnitude >= (limit or infinite):
            text = "NaN" if magnitude > infinite else "infinity" if magnitude == infinite else "a number beyond BF16"
            return NotFinite(*divmod(number, strip.columns), text)
    raise ValueError("all numbers are finite")
