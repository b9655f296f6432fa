"""Latency: mean and quantiles, over all rows and by input length."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from hubrelease.decisions.columns import Table, mean

QUANTILES = "quantile q of n values in order is linear between the two next to place (n - 1) q, counted from 0"
BUCKET_ENDS = (256, 1024, 4096, 16384)
NAMES = ("<=256", "257-1,024", "1,025-4,096", "4,097-16,384", ">16,384")


def quantile(ordered: Sequence[float], q: float) -> float:
    """The `q` quantile of values in order; at least one."""
    place = (len(ordered) - 1) * q
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values: array[float]) -> dict[str, float]:
    """Mean, extremes and quantiles in milliseconds."""
    ordered = sorted(values)
    return {
        "meanMs": mean(values),
        "minimumMs": ordered[0],
        "p50Ms": quantile(ordered, 0.5),
        "p90Ms": quantile(ordered, 0.9),
        "p95Ms": quantile(ordered, 0.95),
        "p99Ms": quantile(ordered, 0.99),
        "maximumMs": ordered[-1],
    }


def buckets(table: Table) -> list[dict[str, Any]]:
    """Each bucket of input length, empty ones too."""
    rows: list[list[int]] = [[] for _ in NAMES]
    for row, tokens in enumerate(table.input_tokens):
        rows[bisect_left(BUCKET_ENDS, tokens)].append(row)
    return [bucket(table, place, found) for place, found in enumerate(rows)]


def bucket(table: Table, place: int, rows: list[int]) -> dict[str, Any]:
    sides = {"baseline": table.baseline.latency_ms, "candidate": table.candidate.latency_ms}
    return {
        "inputTokens": NAMES[place],
        "from": BUCKET_ENDS[place - 1] + 1 if place else 0,
        "upTo": BUCKET_ENDS[place] if place < len(BUCKET_ENDS) else None,
        "rows": len(rows),
        **{name: spread(array("d", [values[r] for r in rows])) if rows else None for name, values in sides.items()},
    }


def change_percent(before: float, after: float) -> float | None:
    """How much `after` is above `before`, in percent; None where there is nothing to compare with."""
    return (after / before - 1) * 100 if before > 0 else None
