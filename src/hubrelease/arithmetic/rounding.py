"""Single numbers rounded to binary32, BF16 and F16, to nearest, ties to even, and their bits.

By whole numbers and binary64, so that a thread which flushes subnormals (fast-math libraries set that) rounds alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def rounded(x: float, digits: int, least: int, limit: float) -> float:
    """To `digits` binary digits, none of them below 2^least; infinite from `limit` on."""
    if math.isnan(x) or abs(x) >= limit:
        return x if math.isnan(x) else math.copysign(math.inf, x)
    unit = max(math.frexp(x)[1] - digits, least)
    found = math.ldexp(round(math.ldexp(x, -unit)), unit)
    return math.copysign(found if abs(found) < limit else math.inf, x)


def f32(x: float) -> float:
    """A quotient or product of two binary32 numbers comes out right: binary64 has room for both."""
    return rounded(x, 24, -149, 2.0**128)


def bf16(x: float) -> float:
    return rounded(x, 8, -133, 2.0**128)


def f16(x: float) -> float:
    return rounded(x, 11, -24, 2.0**16)


ROUND: dict[str, Callable[[float], float]] = {"BF16": bf16, "F16": f16, "F32": f32}


def bits_of(x: float) -> int:
    """Bits of a finite binary32 number that is not negative."""
    exponent = max(math.frexp(x)[1] - 24, -149)
    significand = int(math.ldexp(x, -exponent))
    return (exponent + 149 << 23) + significand if significand else 0


def float_of(bits: int) -> float:
    """The finite binary32 number of these bits, without its sign."""
    field = max(bits >> 23 & 0xFF, 1)
    return math.ldexp(bits & 0x7FFFFF | (0x800000 if bits >> 23 & 0xFF else 0), field - 150)
