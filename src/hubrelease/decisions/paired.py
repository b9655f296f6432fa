"""What two runs over the same rows say beyond their averages: who was right where, and whether chance explains it."""

from __future__ import annotations

import math
from typing import Any

from hubrelease.decisions.columns import Table

MCNEMAR = (
    "exact two-sided McNemar test: twice the binomial tail, at p = 1/2, of the smaller of the two counts of rows that only one got right"
)


def outcomes(table: Table) -> dict[str, Any]:
    """Counts of answers that differ and of who was right, with McNemar's exact p."""
    both = left_only = right_only = 0
    for left, right in zip(table.baseline.correct, table.candidate.correct, strict=True):
        both += left & right
        left_only += left & ~right
        right_only += right & ~left
    return {
        "rows": len(table.same),
        "answersDiffer": table.same.count(0),
        "bothCorrect": both,
        "onlyBaselineCorrect": left_only,
        "onlyCandidateCorrect": right_only,
        "neitherCorrect": len(table.same) - both - left_only - right_only,
        "mcnemarP": mcnemar(left_only, right_only),
    }


def mcnemar(left: int, right: int) -> float:
    """The exact p. The binomial tail is its largest term times a sum of falling products."""
    least, total = min(left, right), left + right
    ratios, term = [1.0], 1.0
    for k in range(least, 0, -1):
        term *= k / (total - k + 1)
        if term < 1e-18:
            break
        ratios.append(term)
    return min(1.0, 2 * math.fsum(ratios) * half_power(total, least))


def half_power(total: int, least: int) -> float:
    """C(total, least) / 2^total, as a product whose exponent is kept apart so that it neither overflows nor vanishes."""
    product, exponent = 1.0, -total
    for k in range(1, least + 1):
        product *= (total - least + k) / k
        if product > 2.0**500:
            product, exponent = product * 2.0**-500, exponent + 500
    return math.ldexp(product, exponent)
