"""Percentile bootstrap intervals of means and of their paired differences; the same on every machine and Python.

Random numbers are SHAKE-128 of seed and number of the resample, so nothing depends on a library's generator. Above 500
rows, 500 groups of rows are drawn in place of rows (sums of random rows are as independent as the rows are), which
takes a fortieth of the time over 23,900 rows. Which group a row is in follows from its id, not from its place in the file.
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Iterator
from math import fsum
from operator import itemgetter
from typing import Any

from hubrelease.decisions.columns import Side, Table
from hubrelease.decisions.latency import quantile

SEED, RESAMPLES, GROUPS, LEVEL = 20261130, 1000, 500, 0.95
METHOD = (
    f"percentile interval at {LEVEL:.0%} from {RESAMPLES:,} resamples of the compared pairs; the pairs, in order of the first 8 bytes of "
    f"SHA-256 of their id, are dealt in turn to at most {GROUPS:,} groups, and groups are drawn; draw d of resample r is 32-bit word d "
    f'(little-endian) of SHAKE-128("{SEED}:r"), r from 0, times the number of groups / 2^32'
)
MEANS = ("accuracy", "nll", "latencyMs")


def intervals(table: Table) -> dict[str, Any]:
    """{metric: {baseline, candidate, difference}}, each [low, high]. The difference is candidate - baseline, row by row."""
    groups = deal(table.keys)
    sizes = [len(rows) for rows in groups]
    sums = {
        (metric, side): [fsum(values[r] for r in rows) for rows in groups]
        for side, columns in (("baseline", table.baseline), ("candidate", table.candidate))
        for metric, values in columns_of(columns).items()
    }
    found: dict[tuple[str, str], list[float]] = {key: [] for key in (*sums, *((m, "difference") for m in MEANS))}
    for draw in draws(len(groups)):
        rows = sum(draw(sizes))
        for key, values in sums.items():
            found[key].append(fsum(draw(values)) / rows)
        for metric in MEANS:
            found[metric, "difference"].append(found[metric, "candidate"][-1] - found[metric, "baseline"][-1])
    return {m: {side: interval(found[m, side]) for side in ("baseline", "candidate", "difference")} for m in MEANS}


def columns_of(side: Side) -> dict[str, Any]:
    return {"accuracy": side.correct, "nll": side.nll, "latencyMs": side.latency_ms}


def deal(keys: array[int]) -> list[list[int]]:
    ordered = sorted(range(len(keys)), key=keys.__getitem__)
    return [ordered[first::GROUPS] for first in range(min(GROUPS, len(ordered)))]


def draws(count: int) -> Iterator[itemgetter[Any]]:
    """For each resample, what takes its `count` draws from a list. A single group is drawn twice: itemgetter of one is no tuple."""
    size = max(count, 2)
    for resample in range(RESAMPLES):
        words = array("I", hashlib.shake_128(f"{SEED}:{resample}".encode()).digest(4 * size))
        if sys.byteorder == "big":
            words.byteswap()
        yield itemgetter(*[word * count >> 32 for word in words])


def interval(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [quantile(ordered, (1 - LEVEL) / 2), quantile(ordered, (1 + LEVEL) / 2)]
