"""MTEB: <Task>.json of a results folder (since 1.11, and the form before it), model_meta.json, which names the model, and a model's
results in one file.

Written by mteb/results/task_result.py and model_result.py. Scores are lists of subsets by split; a task of several subsets has no
score of its own here, so each subset is a task with its name behind it. Secondary scores that MTEB could not compute are NaN, or in
files that were written again the text nan; only the main score's text is kept, for nobody shows the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import first_text, text
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

MAIN = "main_score"
NOT_SCORES = ("evaluation_time", "kg_co2_emissions", "hf_subset", "languages")
WHOLE = ("default", "", None)  # a subset of these names is the whole task


@dataclass(frozen=True)
class Mteb:
    """The adapter."""

    name: str = "mteb"

    def recognises(self, value: Any) -> bool:
        return isinstance(value, dict) and (is_result(value) or is_old_result(value) or is_model(value) or is_all(value))

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        if is_model(value):
            yield Evaluation(file, self.name, text(value["name"]), (), revision=text(value["revision"]))
            return
        metrics = new_metrics(value) if is_result(value) else all_metrics(value) if is_all(value) else old_metrics(value)
        yield Evaluation(
            file=file,
            harness=self.name,
            model=first_text(value, "model_name"),
            metrics=tuple(metrics),
            revision=first_text(value, "model_revision"),
            harness_version=first_text(value, "mteb_version"),
        )


def is_result(value: Mapping[str, Any]) -> bool:
    scores = value.get("scores")
    rows = list(scores.values()) if isinstance(scores, dict) else []
    return "task_name" in value and bool(rows) and all(isinstance(row, list) and all(isinstance(r, dict) for r in row) for row in rows)


def is_old_result(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("mteb_dataset_name"), str) and any(isinstance(part, dict) for part in value.values())


def is_model(value: Mapping[str, Any]) -> bool:
    named = isinstance(value.get("name"), str) and "revision" in value
    return named and {"n_parameters", "embed_dim", "max_tokens", "framework"} <= value.keys()


def is_all(value: Mapping[str, Any]) -> bool:
    rows = value.get("task_results")
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) and is_result(row) for row in rows)


def all_metrics(value: Mapping[str, Any]) -> Iterator[Metric]:
    """Of a model's results in one file."""
    for index, row in enumerate(value["task_results"]):
        yield from new_metrics(row, ("task_results", index))


def new_metrics(value: Mapping[str, Any], path: tuple[Any, ...] = ()) -> Iterator[Metric]:
    task, version = str(value["task_name"]), first_text(value, "dataset_revision")
    for split, rows in value["scores"].items():
        for index, row in enumerate(rows):
            named = subset_task(task, row.get("hf_subset"))
            yield from scores_of(row, named, split, version, (*path, "scores", split, index))


def old_metrics(value: Mapping[str, Any]) -> Iterator[Metric]:
    """Splits stand at the top; a split holds scores, scores by kind (cos_sim), or either by language."""
    task, version = str(value["mteb_dataset_name"]), first_text(value, "dataset_revision")
    for split, scores in value.items():
        if isinstance(scores, dict):
            yield from nested_scores(scores, task, split, version, (split,), ())


def nested_scores(
    scores: Mapping[str, Any], task: str, split: str, version: str | None, path: tuple[Any, ...], names: tuple[str, ...]
) -> Iterator[Metric]:
    for key, found in scores.items():
        if isinstance(found, dict) and len(names) < 3:
            yield from nested_scores(found, task, split, version, (*path, key), (*names, key))
        elif key not in NOT_SCORES and (score := number(found)) is not None:
            yield Metric(task, "_".join((*names, key)), split, score, pointer_to(*path, key), version=version)


def subset_task(task: str, subset: Any) -> str:
    return task if subset in WHOLE or not isinstance(subset, str) else f"{task} {subset}"


def scores_of(row: Mapping[str, Any], task: str, split: str, version: str | None, path: tuple[Any, ...]) -> Iterator[Metric]:
    for name, found in row.items():
        score = number(found)
        if name in NOT_SCORES or (score is None and name != MAIN):
            continue
        given = found if isinstance(found, str) else ""
        yield Metric(task, name, split, score, pointer_to(*path, name), version=version, text=given)


ADAPTER = Mteb()
