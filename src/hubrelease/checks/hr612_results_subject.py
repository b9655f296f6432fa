"""A receipt was measured on another model than the release, and nothing says that this is meant.

Why it matters: the scores of a base or of a sibling are then shown as this model's.
Mend: Run the benchmark on the release; a receipt of another model for comparison is declared under benchmarks[].of.
Source: stdapi-ai/stdapi.ai issue 273. Where the release has a receipt of its own for the same tasks, another model's beside it is
a comparison and no finding; where only the file's name says so ("baseline"), or nothing says the release's own name, it is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.evaluations import Evaluation
from hubrelease.release import Release
from hubrelease.subjects import parse, same

MEND = "run it on the release, or declare under benchmarks[].of in release.yaml whose figures these are"
COMPARISON = re.compile(r"(?i)(^|[/_.-])(base|baseline|reference|original|upstream|teacher|compar\w*|vs|bf16|fp16|unquantized)([/_.-]|$)")


def run(release: Release) -> Iterator[Problem]:
    subjects = release.subjects
    own = [e for e in release.evaluations if e.file not in subjects.declared and not any(subjects.others(e))]
    tasks = {metric.task for evaluation in own for metric in evaluation.metrics}
    has_others = any(not evaluation.metrics for evaluation in own)  # of harnesses whose tasks are not known
    for evaluation in release.evaluations:
        if evaluation.file in subjects.declared:
            yield from declared_problems(evaluation, subjects.declared[evaluation.file])
        elif not subjects.own:
            yield from nameless_problems(release, evaluation)
        elif not (any(m.task in tasks for m in evaluation.metrics) if evaluation.metrics else has_others):
            yield from other_problems(release, evaluation)


def other_problems(release: Release, evaluation: Evaluation) -> Iterator[Problem]:
    found = next(release.subjects.others(evaluation), None)
    if found:
        message = f'was measured on "{found[0][:100]}", and the release is {release.subjects.own[0][:100]}'
        severity = "warning" if COMPARISON.search(evaluation.file.removeprefix("benchmarks/")) else "error"
        yield CHECK.problem(place(evaluation), message, MEND, severity)


def declared_problems(evaluation: Evaluation, of: str) -> Iterator[Problem]:
    """The spec says whose figures these are: the receipt must not name yet another model."""
    subject = parse(evaluation.model) if evaluation.model else None
    declared = parse(of)
    if subject and subject.kind == declared.kind == "hub" and not same(subject, declared.name):
        message = f'was measured on "{subject.name[:100]}", and release.yaml says that it is of {of[:100]}'
        yield CHECK.problem(place(evaluation), message, "correct benchmarks[].of, or take the right receipt")


def nameless_problems(release: Release, evaluation: Evaluation) -> Iterator[Problem]:
    """Nothing says what the release is called; but what is measured on its base alone is hardly its own."""
    subject = parse(evaluation.model) if evaluation.model else None
    base = next((name for name in release.subjects.bases if subject and subject.kind == "hub" and same(subject, name)), None)
    if base and len({e.model for e in release.evaluations}) == 1:
        message = f'was measured on "{base[:100]}", which the card names as the base model'
        yield CHECK.problem(place(evaluation), message, MEND, severity="warning")


def place(evaluation: Evaluation) -> Where:
    known = "/config/model_args" if evaluation.model else "/model_name"
    return Where(evaluation.file, None, known if evaluation.harness == "lm_eval" else None)


CHECK = Check("HR612", "results-subject", "results of another model", run)
