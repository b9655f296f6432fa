"""HELM: stats.json of a run (a list of statistics) and run_spec.json, which names model, scenario and shots; both of one folder.

Written by helm/benchmark/runner.py. A statistic has a name, a split, sometimes a perturbation, and mean, sum and count; count is that of
trials, mostly 1, so there is no standard error. `max_eval_instances` is a limit, `max_train_instances` the shots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import first_text, mapping, text, whole
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

UNITS = {"inference_runtime": "s", "num_prompt_tokens": "tokens", "num_completion_tokens": "tokens", "num_output_tokens": "tokens",
         "num_bytes": "bytes", "training_co2_cost": "kg", "training_energy_cost": "MWh"}  # fmt: skip
HOW = ("model", "model_deployment", "method", "data_augmentation", "groups")  # options of a run's name beside those of adapter_spec


@dataclass(frozen=True)
class Helm:
    """The adapter."""

    name: str = "helm"

    def recognises(self, value: Any) -> bool:
        if isinstance(value, list):
            return bool(value) and all(is_statistic(row) for row in value)
        return isinstance(value, dict) and bool(mapping(value, "adapter_spec")) and bool(mapping(value, "scenario_spec"))

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        yield Evaluation(file, self.name, None, tuple(metrics_of(value))) if isinstance(value, list) else description_of(file, value)


def is_statistic(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(mapping(row, "name").get("name"), str) and "count" in row and "sum" in row


def metrics_of(rows: list[Any]) -> Iterator[Metric]:
    """Statistics that were computed: one with a count of 0 has no mean."""
    for index, row in enumerate(rows):
        name = row["name"]
        if "mean" not in row or isinstance(row["mean"], (dict, list, bool)):
            continue
        changed = mapping(name, "perturbation")
        parts = (first_text(name, "split"), first_text(name, "sub_split"), first_text(changed, "name"), first_text(changed, "computed_on"))
        given = row["mean"] if isinstance(row["mean"], str) else ""
        chosen = " ".join(part for part in parts if part) or "none"
        unit = UNITS.get(name["name"], "")
        yield Metric("", name["name"], chosen, number(row["mean"]), pointer_to(index, "mean"), text=given, unit=unit)


def description_of(file: str, value: Mapping[str, Any]) -> Evaluation:
    """run_spec.json: a run without its values."""
    asked = value["adapter_spec"]
    limit = number(asked.get("max_eval_instances"))
    temperature = number(asked.get("temperature"))
    return Evaluation(
        file=file,
        harness="helm",
        model=first_text(asked, "model"),
        metrics=(),
        limit=limit if limit is not None and limit > 0 else None,
        conditions=(
            *((("deployment", deployment),) if (deployment := text(asked.get("model_deployment"))) else ()),
            *((("method", method),) if (method := text(asked.get("method"))) else ()),
            *((("temperature", f"{temperature:g}"),) if temperature is not None else ()),
        ),
        title=title_of(value),
        shots=whole(asked.get("max_train_instances")),
    )


def title_of(value: Mapping[str, Any]) -> str | None:
    """mmlu:subject=philosophy of mmlu:subject=philosophy,method=…,model=…: what says how it was asked is left out.

    The scenario's own options would not do: commonsense:dataset=hellaswag is a class of its own, without any.
    """
    scenario, _, options = (text(value.get("name")) or "").partition(":")
    how = {*HOW, *mapping(value, "adapter_spec")}
    kept = [option for option in options.split(",") if option and option.partition("=")[0] not in how]
    return f"{scenario}:{','.join(kept)}" if kept else scenario or None


ADAPTER = Helm()
