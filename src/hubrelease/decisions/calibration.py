"""How far confidence is from accuracy: expected calibration error over equal-width bins (Guo et al. 2017)."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from math import fsum
from typing import Any

from hubrelease.decisions.columns import Side

BINS = 15
EDGES = [k / BINS for k in range(1, BINS + 1)]
ECE = (
    f"{BINS} bins of equal width over 0 to 1, each without its lower and with its upper edge (0 is in the first); confidence is the "
    "probability of the answer that was chosen; ece = sum over bins of rows in the bin / all rows x |accuracy - mean confidence|"
)


def bins(side: Side) -> list[dict[str, Any]]:
    """Each bin: edges, rows, mean confidence, accuracy (both None where it is empty)."""
    held = [array("d") for _ in EDGES]
    correct = [0] * BINS
    for confidence, right in zip(side.confidence, side.correct, strict=True):
        place = bisect_left(EDGES, confidence)
        held[place].append(confidence)
        correct[place] += right
    return [
        {
            "above": (place / BINS),
            "upTo": EDGES[place],
            "rows": len(values),
            "meanConfidence": fsum(values) / len(values) if values else None,
            "accuracy": correct[place] / len(values) if values else None,
        }
        for place, values in enumerate(held)
    ]


def expected_error(found: list[dict[str, Any]]) -> float:
    total = sum(b["rows"] for b in found)
    return fsum(b["rows"] / total * abs(b["accuracy"] - b["meanConfidence"]) for b in found if b["rows"])
