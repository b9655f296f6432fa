"""What a run of `bench run` came to so far, for the terminal: how many of each type are right, and how long answers took.

The card's figures come from `bench report`, which looks at everything; this is for who is watching.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hubrelease.decisions.latency import quantile
from hubrelease.decisions.rows import STATUSES
from hubrelease.verify_release import printable

REASONS = 5


@dataclass
class Tally:
    """Of the rows of one file. `answered` and `right` are counted by type."""

    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    latencies: array[float] = field(default_factory=lambda: array("d"))

    def count(self, row: Mapping[str, Any]) -> None:
        """A valid row."""
        self.statuses[row["status"]] += 1
        if row["status"] != "ok":
            self.reasons[str(row.get("reason", ""))] += 1
            return
        self.answered[row["type"]] += 1
        self.right[row["type"]] += row["choice"] == row["label"]
        self.latencies.append(row["latencyMs"])

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"statuses": dict(self.statuses), "reasons": dict(self.reasons)}
        found["types"] = {kind: {"answered": n, "correct": self.right[kind]} for kind, n in sorted(self.answered.items())}
        return found | ({"latencyMs": self.latency} if self.latencies else {})

    @property
    def latency(self) -> dict[str, float]:
        ordered = sorted(self.latencies)
        return {"median": quantile(ordered, 0.5), "p95": quantile(ordered, 0.95)}

    @property
    def counts(self) -> str:
        return ", ".join(f"{status} {self.statuses[status]:,}" for status in STATUSES if self.statuses[status])

    def lines(self) -> Iterator[str]:
        """A small table, then why rows failed."""
        kinds = [*sorted(self.answered), *(["all"] if len(self.answered) > 1 else [])]
        rows = [(kind, *self.share(kind)) for kind in kinds]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
        for kind, amount, share in rows:
            yield f"  {kind:<{widths[0]}}  {amount:>{widths[1]}} right  {share}"
        if self.latencies:
            told = self.latency
            yield f"  latency: median {told['median']:,.1f} ms, 95 % within {told['p95']:,.1f} ms"
        for reason, count in self.reasons.most_common(REASONS):
            yield f"  {count:,} x {printable(reason)}"
        if len(self.reasons) > REASONS:
            yield f"  and {len(self.reasons) - REASONS:,} other reasons; each row has its own"

    def share(self, kind: str) -> tuple[str, str]:
        right = self.right.total() if kind == "all" else self.right[kind]
        answered = self.answered.total() if kind == "all" else self.answered[kind]
        return f"{right:,} of {answered:,}", f"({100 * right / answered:.1f} %)"
