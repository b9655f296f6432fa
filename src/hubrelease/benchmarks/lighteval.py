"""lighteval: results_*.json with `config_general`, and the older files of the Open LLM Leaderboard in the same form.

Written by lighteval/logging/evaluation_tracker.py and info_loggers.py. A row is named suite|task|shots (with a fourth part, whether
shots may be cut, until 0.8) or task|shots; "all" and "…:_average" are means over rows. Since 0.9 the model's options stand
under config_general.model_config. Counts of documents are -1 where they were not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import LOSSES, first_text, mapping, plain, precision_of, seed_of, text, whole
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

STDERR = "_stderr"


@dataclass(frozen=True)
class Lighteval:
    """The adapter."""

    name: str = "lighteval"

    def recognises(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("config_general"), dict):
            return False
        rows = value.get("results")
        return isinstance(rows, dict) and bool(rows) and all(isinstance(row, dict) for row in rows.values())

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        general = value["config_general"]
        options = mapping(general, "model_config")
        limit = number(general.get("max_samples"))
        generation = mapping(options, "generation_parameters") or mapping(general, "generation_parameters")
        yield Evaluation(
            file=file,
            harness=self.name,
            model=first_text(general, "model_name") or first_text(options, "model_name", "pretrained"),
            metrics=tuple(metrics_of(value)),
            revision=first_text(general, "model_sha") or first_text(options, "revision"),
            limit=limit if limit is not None and limit > 0 else None,
            harness_version=known(general.get("lighteval_version")) or known(general.get("lighteval_sha")),
            precision=precision_of(general.get("model_dtype"), options.get("dtype")),
            seed=seed_of(generation.get("seed")) or seed_of(options.get("seed")),
        )


def known(value: Any) -> str | None:
    """Text, but not the question mark that lighteval writes where it is not a clone."""
    found = text(value)
    return found if found != "?" else None


def metrics_of(value: Mapping[str, Any]) -> Iterator[Metric]:
    for row_name, row in value["results"].items():
        task, shots = taken_apart(row_name)
        about = about_task(value, row_name)
        total, run = whole(about.get("original_num_docs")), whole(about.get("effective_num_docs"))
        for name, found in row.items():
            if name.endswith(STDERR) or isinstance(found, (dict, list, bool)):
                continue
            error = f"{name}{STDERR}"
            yield Metric(
                task=task,
                metric=name,
                filter="none",
                value=number(found),
                pointer=pointer_to("results", row_name, name),
                stderr=number(row.get(error)),
                stderr_pointer=pointer_to("results", row_name, error) if error in row else None,
                shots=shots if shots is not None else whole(about.get("num_fewshots")),
                version=plain(mapping(value, "versions").get(row_name, about.get("version"))),
                n=run if run is not None and run > 0 else None,
                n_total=total if total is not None and total > 0 else None,
                text=found if isinstance(found, str) else "",
                is_group=row_name == "all" or task.endswith(":_average"),
                is_lower_better=name in LOSSES or name in losses(about),
            )


def losses(about: Mapping[str, Any]) -> list[Any]:
    """Names of a task's metrics that are better where they are lower."""
    given = about.get("metrics")
    rows = [row for row in given if isinstance(row, dict)] if isinstance(given, list) else []
    return [row.get("metric_name") for row in rows if row.get("higher_is_better") is False]


def taken_apart(row: str) -> tuple[str, int | None]:
    """(task, shots) of a row's name."""
    parts = row.split("|")
    numbers = [part for part in parts if part.isdecimal()]
    names = [part for part in parts if not part.isdecimal()]
    return (names[-1] if names else row), int(numbers[0][:6]) if numbers else None


def about_task(value: Mapping[str, Any], row: str) -> Mapping[str, Any]:
    """The task's own options: under the row's name, under it without the numbers at its end, or with a suite before that."""
    tasks = mapping(value, "config_tasks")
    parts = row.split("|")
    while parts and parts[-1].isdecimal():
        parts.pop()
    name = "|".join(parts)
    inside = [key for key in tasks if key.endswith(f"|{name}")]
    return mapping(tasks, row) or mapping(tasks, name) or (mapping(tasks, inside[0]) if len(inside) == 1 else {})


ADAPTER = Lighteval()
