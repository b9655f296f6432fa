"""A paired report (schemas/decision-report.schema.json) among a card's receipts, whole: for the tables and plots that are made of one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hubrelease import resources
from hubrelease.errors import CheckFailed, Where, problem
from hubrelease.facts import Facts

KIND = "decision-report"
SIDES = ("baseline", "candidate")


def report_of(facts: Facts, receipt: Any, where: Where, fault: str) -> Any:
    """The report, held against its schema once. CheckFailed (a problem of the kind `fault`) if the receipt is none."""
    from hubrelease.schema_problems import validate

    value = facts.receipts.get(receipt)
    if not isinstance(value, dict) or value.get("kind") != KIND:
        message = f'"{str(receipt)[:200]}" is no paired report of this release'
        mend = "name a receipt of `benchmarks` that `hubrelease bench report` wrote, by its path in the release"
        raise CheckFailed(problem(fault, where, message, mend))
    key = f"faults of report {receipt}"
    if key not in facts.found:
        facts.found[key] = validate(value, resources.schema(KIND), lambda pointer: Where(receipt, None, pointer))
    if found := facts.found[key]:
        message = f"{receipt} does not fit {KIND}.schema.json: {found[0].where.pointer} {found[0].message}"
        raise CheckFailed(problem(fault, where, message, "write it again with `hubrelease bench report`"))
    return value


# ---------------------------------------------------------------------------------------------------------- agreement

CLOSE = 1e-9


def disagreement(report: Any) -> str | None:
    """Which figure of a report that fits its schema contradicts others of it; None if none does. What is not finite is left to others."""
    compared, counts = report["matching"]["compared"], report["comparison"]
    right = {side: counts["bothCorrect"] + counts[f"only{side.title()}Correct"] for side in SIDES}
    sums = [
        ("/buckets/*/rows", sum(bucket["rows"] for bucket in report["buckets"]), compared),
        ("/comparison/neitherCorrect", right["baseline"] + counts["onlyCandidateCorrect"] + counts["neitherCorrect"], compared),
        *((f"/{side}/rows", report[side]["rows"], compared) for side in SIDES),
        *((f"/{side}/correct", report[side]["correct"], right[side]) for side in SIDES),
        *((f"/{side}/accuracy", report[side]["accuracy"], Fraction(report[side]["correct"], compared)) for side in SIDES),
        *changes(report["buckets"]),
    ]
    return next((pointer for pointer, said, wanted in sums if not agree(said, wanted)), None)


def changes(buckets: Any) -> Iterator[tuple[str, Any, Fraction]]:
    """(pointer, value, what the means give) of each change of latency."""
    for number, bucket in enumerate(buckets):
        said, (before, after) = bucket["meanLatencyChangePercent"], ((bucket[side] or {}).get("meanMs") for side in SIDES)
        if said is not None and before and after and math.isfinite(before) and math.isfinite(after):
            yield f"/buckets/{number}/meanLatencyChangePercent", said, (Fraction(after) / Fraction(before) - 1) * 100


def agree(said: Any, wanted: Any) -> bool:
    if isinstance(said, float) and not math.isfinite(said):
        return True
    return abs(Fraction(said) - Fraction(wanted)) <= Fraction(CLOSE) * (1 + abs(Fraction(wanted)))
