"""A table of the card compares runs that were not made alike: task versions, shots, filters, samples or chat template differ.

Why it matters: the difference that the table shows is then one of the harness, not of the models.
Mend: Run both models alike, or say in the table what differs.
Source: mrdushidush/claudette PR 22 (a partial run in one column with full ones); EleutherAI/lm-evaluation-harness docs/task_guide.md
(scores of different task versions are not comparable).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from hubrelease.card_text import FILE, Table
from hubrelease.checks import Check
from hubrelease.claim_words import Vocabulary
from hubrelease.claims import Claim, Measured, Value, claims_of
from hubrelease.errors import Problem, Where
from hubrelease.evaluations import Evaluation, Metric
from hubrelease.figures_shown import fits
from hubrelease.release import Release
from hubrelease.traced import own_evaluations, vocabulary

MAX_PAIRS = 1000  # of one table


def run(release: Release) -> Iterator[Problem]:
    known = vocabulary(release)
    if release.card is None or not known.others:
        return
    own = Measured(own_evaluations(release))
    models = {model: Measured(e for e in known.evaluations if e.model == model) for model in set(known.others.values())}
    for table in release.card.tables:
        yield from table_problems(table, known, own, models)


def table_problems(table: Table, known: Vocabulary, own: Measured, models: dict[str, Measured]) -> Iterator[Problem]:
    claims = [claim for claim in claims_of(table, known) if not claim.is_error]
    for ours, theirs in islice(pairs(claims), MAX_PAIRS):
        mine, other = meant(ours, own), meant(theirs, models[theirs.context.model or ""])
        if mine and other and (found := least_different(mine, other)):
            files = f"{mine[0].evaluation.file} and of {other[0].evaluation.file}"
            message = f"compares {mine[0].metric.task[:60]} of {files}, which differ in {', '.join(found)}"
            yield CHECK.problem(Where(FILE, ours.line), message, "run both alike, or say in the table what differs", severity="warning")


def pairs(claims: list[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Each claim of the release with each of another model about the same tasks."""
    others: dict[object, list[Claim]] = {}
    for claim in claims:
        if claim.context.model is not None:
            others.setdefault(claim.context.tasks, []).append(claim)
    return ((claim, other) for claim in claims if claim.context.model is None for other in others.get(claim.context.tasks, ()))


def meant(claim: Claim, measured: Measured) -> list[Value]:
    """The values that a claim shows."""
    return [value for value in measured.candidates(claim.context) if fits(claim.shown, value.number)]


def least_different(mine: list[Value], other: list[Value]) -> list[str]:
    """What differs between the two runs; where several fit the figures, between those that are most alike."""
    both = ((first, second) for first in mine[:20] for second in other[:20])
    return min((differences(a.evaluation, a.metric, b.evaluation, b.metric) for a, b in both), key=len)


def differences(run: Evaluation, metric: Metric, other_run: Evaluation, other: Metric) -> list[str]:
    compared = {
        "metric": (metric.metric, other.metric),
        "filter": (metric.filter, other.filter),
        "task version": (metric.version, other.version),
        "shots": (metric.shots, other.shots),
        "samples": (metric.n, other.n),
        "limit": (run.limit, other_run.limit) if metric.n is None else (None, None),
    }
    found = [f"{name} ({a} and {b})" for name, (a, b) in compared.items() if a is not None and b is not None and a != b]
    return [*found, *(["the use of a chat template"] if bool(run.template) != bool(other_run.template) else [])]


CHECK = Check("HR615", "results-incomparable", "comparison of unlike runs", run)
