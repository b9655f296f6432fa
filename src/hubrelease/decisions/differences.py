"""How far the probabilities of the two runs are apart, candidate by candidate."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

from hubrelease.decisions.columns import doubles
from hubrelease.decisions.latency import quantile
from hubrelease.decisions.rows import Row
from hubrelease.errors import CheckFailed, Where, problem

THRESHOLD = 0.10
SLACK = 1e-12  # 0.6 - 0.5 is a little less than 0.1 in binary64, and means 0.1
MAX_VALUES = 50_000_000  # 400 MB
DIFFERENCES = (
    f"absolute difference of each candidate's probability, over all candidates of all compared rows; a row counts as {THRESHOLD:.2f} or "
    f"more if that of at least one of its candidates is (within {SLACK})"
)


@dataclass
class Differences:
    """8 bytes a candidate, for exact quantiles."""

    values: array[float] = field(default_factory=doubles)
    rows: int = 0
    rows_at_least: int = 0

    def add(self, left: Row, right: Row) -> None:
        after = right.probabilities
        if left.candidates != right.candidates:  # the same ones in another order
            by_name = dict(zip(right.candidates, after, strict=True))
            after = tuple(by_name[name] for name in left.candidates)
        found = [abs(a - b) for a, b in zip(left.probabilities, after, strict=True)]
        self.values.extend(found)
        self.rows += 1
        self.rows_at_least += max(found) >= THRESHOLD - SLACK
        if len(self.values) > MAX_VALUES:
            message = f"the rows have more than {MAX_VALUES:,} candidates in all"
            raise CheckFailed(problem("decision-rows-invalid", Where(left.id[:60]), message, "compare the runs in parts"))

    def figures(self) -> dict[str, Any]:
        ordered = sorted(self.values)
        return {
            "candidates": len(ordered),
            "median": quantile(ordered, 0.5),
            "p99": quantile(ordered, 0.99),
            "maximum": ordered[-1],
            "threshold": THRESHOLD,
            "rowsAtLeast": self.rows_at_least,
            "rowsAtLeastShare": self.rows_at_least / self.rows,
        }
