"""Runs whose harness writes two files: HELM and MTEB name the model in one and give its values in another of the same folder.

They belong together by their names: run_spec.json to everything beside it, tiny.run_spec.json to what begins with "tiny." only, so
that results of several models can lie in one folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hubrelease.evaluations import Evaluation

NAMES = {"mteb": "model_meta.json", "helm": "run_spec.json"}
SHARED = ("model", "revision", "engine", "limit", "precision", "seed")


def joined(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """The evaluations, those without a model with what the description beside them says."""
    found = list(evaluations)
    about = {place: e for e in found if not e.metrics and (place := described(e)) is not None}
    return [completed(e, description_of(e, about)) if e.metrics and e.model is None else e for e in found]


def described(evaluation: Evaluation) -> tuple[str, str] | None:
    """(harness, beginning of the paths) that a description is about; None for what is none."""
    name = NAMES.get(evaluation.harness)
    return (evaluation.harness, evaluation.file.removesuffix(name)) if name and evaluation.file.endswith(name) else None


def description_of(evaluation: Evaluation, about: dict[tuple[str, str], Evaluation]) -> Evaluation | None:
    """The description with the longest beginning that fits, of the same folder."""
    folder = evaluation.file.rpartition("/")[0]
    fitting = [
        (beginning, found)
        for (harness, beginning), found in about.items()
        if harness == evaluation.harness and beginning.rpartition("/")[0] == folder and evaluation.file.startswith(beginning)
    ]
    return max(fitting, key=lambda item: len(item[0]))[1] if fitting else None


def completed(evaluation: Evaluation, other: Evaluation | None) -> Evaluation:
    """The evaluation with what its description says besides."""
    if other is None:
        return evaluation
    metrics = tuple(
        replace(m, task=m.task or other.title or "", shots=other.shots if m.shots is None else m.shots) for m in evaluation.metrics
    )
    given = {name: getattr(other, name) for name in SHARED if getattr(evaluation, name) is None}
    conditions, title = evaluation.conditions or other.conditions, evaluation.title or other.title
    return replace(evaluation, metrics=metrics, conditions=conditions, title=title, **given)
