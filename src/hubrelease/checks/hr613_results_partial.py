"""A receipt's run covered only a part of a task, and the card does not say so.

Why it matters: a score over the first 200 of 1,319 questions stands in one column with scores over all of them.
Mend: Run without `limit`, or say in the card how many samples were run ("200 of 1319").
Source: mrdushidush/claudette PR 22; lm_eval 0.4 `n-samples` and `config.limit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.card_text import Card
from hubrelease.checks import Check
from hubrelease.claim_words import key, words
from hubrelease.errors import Problem, Where
from hubrelease.evaluations import Evaluation
from hubrelease.release import Release
from hubrelease.strict_yaml import pointer_to

MEND = 'run all of it, or say in the card how many samples were run, such as "200 of 1319"'
COUNTS = words("n samples nsamples count questions items examples numsamples numberofsamples limit")
SAMPLES = "(samples?|questions?|items?|examples?|problems?|prompts?|tasks?)"
MAX_SHOWN, MAX_LOOKED_UP = 5, 100


def run(release: Release) -> Iterator[Problem]:
    for evaluation in release.evaluations:
        yield from absent_problems(evaluation)
        yield from sample_problems(evaluation, release.card)


def sample_problems(evaluation: Evaluation, card: Card | None) -> Iterator[Problem]:
    partial = {m.task: m for m in evaluation.metrics if m.n is not None and m.n_total is not None and m.n < m.n_total}
    counts = {(metric.n, metric.n_total) for metric in list(partial.values())[:MAX_LOOKED_UP]}
    said = {pair for pair in counts if is_said(*pair, card)}
    unsaid = [metric for metric in partial.values() if (metric.n, metric.n_total) not in said]
    for metric in unsaid[:MAX_SHOWN]:
        message = f"{metric.task[:60]} was run on {metric.n} of {metric.n_total} samples"
        place = pointer_to("n-samples", metric.task) if evaluation.harness == "lm_eval" else metric.pointer
        yield CHECK.problem(Where(evaluation.file, None, place), message, MEND, "warning")
    if len(unsaid) > MAX_SHOWN:
        yield CHECK.problem(Where(evaluation.file), f"{len(unsaid) - MAX_SHOWN} more tasks were run in part", MEND, "warning")
    uncounted = bool(evaluation.metrics) and all(m.n is None for m in evaluation.metrics)
    if evaluation.limit is not None and uncounted and not is_said(evaluation.limit, None, card):
        message = f"was run with limit {evaluation.limit:g}, so on a part of each task"
        limit = "/config/limit" if evaluation.harness == "lm_eval" else None
        yield CHECK.problem(Where(evaluation.file, None, limit), message, MEND, "warning")


def absent_problems(evaluation: Evaluation) -> Iterator[Problem]:
    """A group's score over fewer tasks than it is made of."""
    groups: dict[str, list[str]] = {}
    for group, task in evaluation.tasks_absent:
        groups.setdefault(group, []).append(task)
    for group, tasks in list(groups.items())[:MAX_SHOWN]:
        listed = ", ".join(tasks[:3]) + (", …" if len(tasks) > 3 else "")
        message = f"{group[:60]} has a score, and {len(tasks)} of its tasks have none: {listed[:150]}"
        where = Where(evaluation.file, None, pointer_to("group_subtasks", group))
        yield CHECK.problem(where, message, "run the tasks that are missing", "warning")


def is_said(n: float | None, total: int | None, card: Card | None) -> bool:
    """True if the card says how many samples were run, with or without the whole number."""
    if n is None or card is None:
        return False
    count = f"{n:g}" if n >= 1 else f"{n * 100:g} ?%"
    forms = [rf"(limit|first|random|subset|n|only)\W{{0,12}}((of|to)\W)?{count}\b", rf"\b{count}[ -](\w+ )?{SAMPLES}\b"]
    forms += [rf"\b{count}\s?(/|(out )?of( the)?)\s?{total}\b"] if total is not None else []
    text = card.text.replace(",", "")
    columns = [(table, n) for table in card.tables for n, header in enumerate(table.headers) if key(header) in COUNTS]
    cells = {row.cells[n].replace(",", "") for table, n in columns for row in table.rows}
    return count in cells or re.search(f"(?i){'|'.join(forms)}", text) is not None


CHECK = Check("HR613", "results-partial", "partial run", run)
