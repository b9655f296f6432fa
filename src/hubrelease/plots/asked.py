"""card.plots → Plots: the figures of each are found, and what is wrong with any is told at once.

A plot has its words in the card's language for its alt text, in English for the picture: that is one file for all languages, and
the font that makes its bytes the same everywhere has letters of Latin, Greek and Cyrillic script only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hubrelease import paired_reports
from hubrelease.errors import CheckFailed, Problem, ReleaseError, problem
from hubrelease.facts import Facts, resolve
from hubrelease.phrases import Say, local
from hubrelease.plots.figures import Plot, Point, Series

SIDES = ("candidate", "baseline")
PICTURE = "en"


def plots_of(facts: Facts, locale: str | None = None) -> tuple[Plot, ...]:
    """The plots that release.yaml asks for, in a language of the card, or as they are drawn. CheckFailed with every problem."""
    made: list[Plot] = []
    problems: list[Problem] = []
    for number, asked in enumerate(facts.spec.card.get("plots", ())):
        try:
            made.append(plot_of(facts, asked, f"/card/plots/{number}", locale))
        except ReleaseError as error:
            problems += error.problems
    if problems:
        raise CheckFailed(problems)
    return tuple(made)


def plot_of(facts: Facts, asked: Mapping[str, Any], at: str, locale: str | None) -> Plot:
    kind = asked["kind"]
    series = READERS[kind](facts, worded(facts, asked, at, locale), at)
    default = str(Say(locale or PICTURE)(f"plot_{kind}"))
    title = words(facts, asked["title"], f"{at}/title", locale, default) if "title" in asked else default
    return Plot(kind, asked["file"], title, series, facts.spec.where(at))


def worded(facts: Facts, asked: Mapping[str, Any], at: str, locale: str | None) -> Mapping[str, Any]:
    """The plot with its labels in one language."""

    def rows(key: str) -> list[Any]:
        found = enumerate(asked[key])
        return [{**row, "label": words(facts, row["label"], f"{at}/{key}/{n}/label", locale, "")} for n, row in found]

    return {**asked, **{key: rows(key) for key in ("bars", "series") if key in asked}}


def words(facts: Facts, value: Any, pointer: str, locale: str | None, default: str) -> str:
    """A text in one language; for the picture the English one, else `default`, else any: its font tells whether it can show it."""
    if locale is not None or not isinstance(value, Mapping):
        return local(value, locale or PICTURE, facts.spec, pointer)
    return str(value.get(PICTURE) or default or next(iter(value.values()), ""))


def recovery(facts: Facts, asked: Mapping[str, Any], at: str) -> tuple[Series, ...]:
    """A bar for each figure; 1 is the baseline."""
    bars = [
        Point(facts.figure(bar["figure"], facts.spec.where(f"{at}/bars/{n}/figure")), bar["label"]) for n, bar in enumerate(asked["bars"])
    ]
    for n, bar in enumerate(bars):
        if bar.y.amount is None or not 0 < bar.y.amount.number < 100:
            message = f"is {bar.y.shown}, no share of the baseline"
            raise CheckFailed(problem("plot-fault", facts.spec.where(f"{at}/bars/{n}"), message, "give a figure with `compute: recovery`"))
    return (Series("", tuple(bars)),)


def throughput(facts: Facts, asked: Mapping[str, Any], at: str) -> tuple[Series, ...]:
    """Points of (concurrency, throughput), a line for each series."""

    def point(value: Mapping[str, Any], inside: str) -> Point:
        x, y = (facts.figure(value[key], facts.spec.where(f"{inside}/{key}")) for key in ("concurrency", "throughput"))
        if not x.amount or not y.amount or x.amount.number <= 0:
            message = f"has concurrency {x.shown} and throughput {y.shown}"
            raise CheckFailed(problem("plot-fault", facts.spec.where(inside), message, "give two numbers, concurrency above 0"))
        return Point(y, x=x)

    return tuple(
        Series(one["label"], tuple(point(value, f"{at}/series/{n}/points/{k}") for k, value in enumerate(one["points"])))
        for n, one in enumerate(asked["series"])
    )


def latency(facts: Facts, asked: Mapping[str, Any], at: str) -> tuple[Series, ...]:
    """Mean latency of both runs of a paired report in each bucket that has rows."""
    report = report_of(facts, asked, at)
    buckets = [(n, b["inputTokens"]) for n, b in enumerate(report["buckets"]) if b["rows"]]
    form, names = {"from": "ms", "as": "duration"}, named(report)
    return tuple(
        Series(names[side], tuple(Point(find(facts, asked, at, f"/buckets/{n}/{side}/meanMs", form), label) for n, label in buckets))
        for side in SIDES
    )


def reliability(facts: Facts, asked: Mapping[str, Any], at: str) -> tuple[Series, ...]:
    """Accuracy and mean confidence of both runs of a paired report in each bin that has rows."""
    report = report_of(facts, asked, at)
    names = named(report)

    def point(side: str, n: int) -> Point:
        x, y = (find(facts, asked, at, f"/{side}/bins/{n}/{key}", {"decimals": 3}) for key in ("meanConfidence", "accuracy"))
        return Point(y, x=x)

    return tuple(
        Series(
            names[side],
            tuple(point(side, n) for n, found in enumerate(report[side]["bins"]) if found["rows"]),
            "ECE " + find(facts, asked, at, f"/{side}/ece", {"decimals": 6}).shown,
        )
        for side in SIDES
    )


READERS = {"recovery": recovery, "latency": latency, "reliability": reliability, "throughput": throughput}


def report_of(facts: Facts, asked: Mapping[str, Any], at: str) -> Any:
    """The paired report that a plot is of, whole. CheckFailed if the receipt is none."""
    return paired_reports.report_of(facts, asked["receipt"], facts.spec.where(f"{at}/receipt"), "plot-fault")


def named(report: Any) -> dict[str, str]:
    """The name of each run, as the tables have it: its profile, else its model, else its part; its part beside it where both have one."""

    def name(side: str) -> str:
        texts = [resolve(report[side]["run"], pointer) for pointer in ("/profile", "/model/name")]
        return next((text for text in texts if isinstance(text, str) and text.strip()), side)

    names = {side: name(side) for side in SIDES}
    return names if len(set(map(str.strip, names.values()))) == len(SIDES) else {side: f"{name} ({side})" for side, name in names.items()}


def find(facts: Facts, asked: Mapping[str, Any], at: str, pointer: str, form: Mapping[str, Any]) -> Any:
    return facts.figure({"receipt": asked["receipt"], "pointer": pointer, **form}, facts.spec.where(f"{at}/receipt"))
