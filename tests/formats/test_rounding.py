"""Single numbers are rounded as the machine's own conversions round them."""

from __future__ import annotations

import math
import struct

from by_the_book import bf16 as bf16_by_the_book
from by_the_book import f32 as f32_by_the_book
from hypothesis import example, given
from hypothesis import strategies as st

from hubrelease.arithmetic.kernels import divisor, multiplier
from hubrelease.arithmetic.rounding import bf16, bits_of, f16, f32, float_of

NUMBERS = st.floats(allow_nan=False) | st.floats(-1e-36, 1e-36) | st.floats(width=32, allow_nan=False) | st.floats(-1e5, 1e5)


@given(NUMBERS)
@example(3.4028235677973366e38)
@example(2.0**-150)
@example(3 * 2.0**-150)
def test_binary32(x: float) -> None:
    assert f32(x) == f32_by_the_book(x)


@given(st.floats(width=32, allow_nan=False))
def test_bf16(x: float) -> None:
    assert bf16(x) == bf16_by_the_book(x)


@given(st.floats(width=32, allow_nan=False))
@example(65519.99)
@example(65520.0)
def test_f16(x: float) -> None:
    try:
        wanted = struct.unpack("<e", struct.pack("<e", x))[0]
    except OverflowError:
        wanted = math.copysign(math.inf, x)
    assert f16(x) == wanted


@given(st.integers(0, 0x7F7FFFFF))
def test_bits(bits: int) -> None:
    (x,) = struct.unpack("<f", struct.pack("<I", bits))
    assert float_of(bits) == x
    assert bits_of(x) == bits


def test_global_scales_at_the_ends_of_their_range() -> None:
    assert divisor(0.0, "BF16") == 1.0
    assert divisor(9.5, "BF16") == 284.0
    assert divisor(9.5, "F32") == f32(f32(1 / 9.5) * 2688)
    assert divisor(0.04, "F16") == 1.0  # 2688 / 0.04 is beyond F16
    assert multiplier(0.0, "BF16") == 1.0
    assert multiplier(1e-42, "F32") == 1.0
    assert multiplier(9.5, "BF16") == f32(9.5 / 2688)
