"""What is kept of each compared pair: some 60 bytes, in columns, a table a task. Everything in the report is made from them.

Sums are math.fsum's, which does not depend on order: two files with the same rows in another order give the same figures.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from dataclasses import dataclass, field

from hubrelease.decisions.rows import Row

FLOOR = 2.0**-52  # of a probability in a logarithm: binary64's epsilon, as scikit-learn's log_loss has it


def doubles() -> array[float]:
    return array("d")


@dataclass
class Side:
    """One run's answers: correct or not, probability of the choice, negative log-likelihood of the label, latency."""

    correct: bytearray = field(default_factory=bytearray)
    confidence: array[float] = field(default_factory=doubles)
    nll: array[float] = field(default_factory=doubles)
    latency_ms: array[float] = field(default_factory=doubles)
    floored: int = 0

    def add(self, row: Row) -> None:
        likelihood = row.probabilities[row.candidates.index(row.label)]
        if likelihood < FLOOR:
            self.floored += 1
            likelihood = FLOOR
        self.correct.append(row.candidates[row.choice] == row.label)
        self.confidence.append(row.probabilities[row.choice])
        self.nll.append(-math.log(likelihood))
        self.latency_ms.append(row.latency_ms)

    def extend(self, other: Side) -> None:
        self.correct += other.correct
        self.confidence.extend(other.confidence)
        self.nll.extend(other.nll)
        self.latency_ms.extend(other.latency_ms)
        self.floored += other.floored


@dataclass
class Table:
    """Pairs: both sides, input tokens as the baseline counted them, whether the choice is the same, a key made of the id."""

    baseline: Side = field(default_factory=Side)
    candidate: Side = field(default_factory=Side)
    input_tokens: array[int] = field(default_factory=lambda: array("Q"))
    same: bytearray = field(default_factory=bytearray)
    keys: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, left: Row, right: Row) -> None:
        self.baseline.add(left)
        self.candidate.add(right)
        self.input_tokens.append(left.input_tokens)
        self.same.append(left.candidates[left.choice] == right.candidates[right.choice])
        self.keys.append(int.from_bytes(hashlib.sha256(left.id.encode()).digest()[:8], "big"))

    def extend(self, other: Table) -> None:
        self.baseline.extend(other.baseline)
        self.candidate.extend(other.candidate)
        self.input_tokens.extend(other.input_tokens)
        self.same += other.same
        self.keys.extend(other.keys)


def together(tables: dict[str, Table]) -> Table:
    """One table of all, in order of name."""
    whole = Table()
    for name in sorted(tables):
        whole.extend(tables[name])
    return whole


def mean(values: array[float]) -> float:
    return math.fsum(values) / len(values)
