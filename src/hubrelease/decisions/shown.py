"""A paired report as lines for people: the tables of a model card, in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Report = Mapping[str, Any]
SIDES = ("candidate", "baseline")


def lines(report: Report) -> Iterator[str]:
    yield from matching(report)
    yield ""
    yield from columns(
        ("profile", "correct", "accuracy", "ECE", "mean NLL", "mean latency", "p50", "p99"), [profile(report, s) for s in SIDES]
    )
    yield ""
    yield from against(report)
    yield ""
    yield from columns(("input tokens", "rows", *(name(report, s) for s in SIDES), "change"), [bucket(b) for b in report["buckets"]])
    yield ""
    head = ("task", "rows", *(name(report, s) for s in SIDES), "differ", "only here", "only baseline", "neither", "McNemar p")
    yield from columns(head, [task(t) for t in report["tasks"]])
    yield ""
    yield from (run(report, side) for side in SIDES)


def name(report: Report, side: str) -> str:
    return str(report[side]["run"]["profile"] or side)


def matching(report: Report) -> Iterator[str]:
    m = report["matching"]
    yield (
        f"{m['compared']:,} rows compared; missing {m['missing']:,}, extra {m['extra']:,}, other request {m['differentRequest']:,}, "
        f"other question {m['differentQuestion']:,}, not answered by both {m['notAnswered']:,}"
    )


def profile(report: Report, side: str) -> tuple[str, ...]:
    p = report[side]
    times = p["latency"]
    return (
        name(report, side),
        f"{p['correct']:,}/{p['rows']:,}",
        f"{p['accuracy']:.3%}",
        f"{p['ece']:.6f}",
        f"{p['meanNll']:.6f}",
        *(duration(times[key]) for key in ("meanMs", "p50Ms", "p99Ms")),
    )


def against(report: Report) -> Iterator[str]:
    c, d = report["comparison"], report["probabilityDifferences"]
    low, high = c["intervals"]["accuracy"]["difference"]
    yield (
        f"answers differ on {c['answersDiffer']:,} rows: {c['onlyCandidateCorrect']:,} correct only here, "
        f"{c['onlyBaselineCorrect']:,} only in the baseline; neither correct on {c['neitherCorrect']:,}; McNemar p {c['mcnemarP']:.4g}"
    )
    yield f"accuracy {100 * c['accuracyDifference']:+.3f} points (95 % interval {100 * low:+.3f} to {100 * high:+.3f})"
    if c["meanLatencyChangePercent"] is None:
        yield "mean latency is not compared: the runs had different concurrency"
    else:
        low, high = c["intervals"]["latencyMs"]["difference"]
        step = report["candidate"]["latency"]["meanMs"] - report["baseline"]["latency"]["meanMs"]
        yield f"mean latency {c['meanLatencyChangePercent']:+.1f} %, {step:+.1f} ms (95 % interval {low:+.1f} to {high:+.1f} ms)"
    yield (
        f"candidate probabilities differ by {d['median']:.3g} (median), {d['p99']:.4g} (p99), {d['maximum']:.4g} (maximum); "
        f"by {d['threshold']:.2f} or more in {d['rowsAtLeast']:,} rows ({d['rowsAtLeastShare']:.2%})"
    )


def bucket(b: Report) -> tuple[str, ...]:
    if not b["rows"]:
        return b["inputTokens"], "0", "-", "-", "-"
    return b["inputTokens"], f"{b['rows']:,}", *(duration(b[s]["meanMs"]) for s in SIDES), percent(b["meanLatencyChangePercent"])


def task(t: Report) -> tuple[str, ...]:
    c = t["comparison"]
    counts = (c["answersDiffer"], c["onlyCandidateCorrect"], c["onlyBaselineCorrect"], c["neitherCorrect"])
    return t["task"], f"{c['rows']:,}", *(f"{t[s]['accuracy']:.2%}" for s in SIDES), *(f"{n:,}" for n in counts), f"{c['mcnemarP']:.3g}"


def run(report: Report, side: str) -> str:
    p = report[side]
    facts, s = p["run"], p["statuses"]
    power, memory = facts["powerLimit"], facts["memory"]
    asked = ", ".join(f"{r['rotations'] or 'unknown'} ({r['rows']:,} rows)" for r in p["rotations"])
    limits = f"{watts(power['startW'])} at start, {watts(power['endW'])} at end" if power else "not recorded"
    peak = f"{memory['peakMiB']:,.0f} MiB" if memory else "not recorded"
    return (
        f"{name(report, side)}: failed {s['failed']:,}, excluded {s['excluded']:,}, truncated {s['truncated']:,}; "
        f"longest input {p['longestInputTokens']:,} tokens; rotations {asked}; concurrency {facts['concurrency'] or 'not recorded'}; "
        f"power limit {limits}; memory peak {peak}"
    )


def watts(values: Sequence[float] | None) -> str:
    return "not recorded" if values is None else " and ".join(f"{w:g} W" for w in values)


def duration(milliseconds: float) -> str:
    return f"{milliseconds:.1f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3f} s"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"


def columns(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """A table: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        first, *others = (cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        yield "  ".join((first, *others)).rstrip()
