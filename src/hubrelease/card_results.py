"""The card's results as data: model-index in its metadata, and .eval_results/*.yaml for benchmarks that the Hub registers.

Both hold the numbers that the tables show, and nothing else. They are the publisher's own, and called self-reported: no one
has verified them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hubrelease.amounts import refused
from hubrelease.card_front import yaml_text
from hubrelease.evaluations import Evaluation, Metric
from hubrelease.facts import Facts, Figure
from hubrelease.markdown import plain_line
from hubrelease.tables import Table

NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?")
FOLDER = ".eval_results/"
SELF_REPORTED = "self-reported"


class Result(NamedTuple):
    """A score of this release that a table shows."""

    figure: Figure
    evaluation: Evaluation
    metric: Metric


def number_shown(figure: Figure) -> float | int:
    """The number that a figure's text says, without its unit."""
    found = NUMBER.search(figure.shown)
    digits = found[0].replace(",", "") if found else ""
    return float(digits) if "." in digits else int(digits)


def results(facts: Facts, tables: list[Table]) -> list[Result]:
    """The scores that tables show of this release's own receipts, each once, in their order."""
    others = {receipt.to for receipt in facts.spec.receipts if receipt.of}
    found: dict[tuple[str, str], Result] = {}
    for figure in (f for t in tables if t.measured_by == "publisher" for row in t.rows for cell in row for f in cell.figures):
        is_own = figure.source == "receipt" and figure.file not in others and figure.rounded is not None
        known = facts.measured(figure.file, figure.pointer) if is_own else None
        if known and known[0].has_tasks and known[1].task:
            found.setdefault((figure.file, figure.pointer), Result(figure, *known))
    return list(found.values())


# --------------------------------------------------------------------------------------------------------- model-index


def model_index(facts: Facts, tables: list[Table]) -> list[dict[str, Any]] | None:
    """The value of model-index, where card.model_index asks for it. CheckFailed where there is nothing to put in."""
    asked = facts.spec.card.get("model_index")
    if not asked:
        return None
    options: Mapping[str, Any] = asked if isinstance(asked, dict) else {}
    where = facts.spec.where("/card/model_index")
    task = options.get("task_type", facts.spec.card.get("pipeline_tag"))
    if not task:
        raise refused(where, "model-index names a task for each result", "give card.pipeline_tag, or model_index.task_type")
    groups: dict[tuple[str, int | None], list[Result]] = {}
    for result in results(facts, tables):
        groups.setdefault((result.metric.task, result.metric.shots), []).append(result)
    if not groups:
        message = "no table shows a score of this release that an adapter reads"
        raise refused(where, message, "add a table of its receipts (one without `of`), or remove the key")
    rows = [one_result(task, name, shots, found, options.get("datasets", {})) for (name, shots), found in groups.items()]
    return [{"name": facts.spec.name.split("/")[-1], "results": rows}]


def one_result(kind: str, task: str, shots: int | None, found: list[Result], datasets: Mapping[str, Any]) -> dict[str, Any]:
    alias = found[0].metric.alias.strip(" -")
    dataset = {"type": plain_line(task), "name": plain_line(alias or task).strip(), **datasets.get(task, {})}
    if shots is not None:
        dataset["args"] = {"num_few_shot": shots}
    return {"task": {"type": kind}, "dataset": dataset, "metrics": [as_metric(result) for result in found]}


def as_metric(result: Result) -> dict[str, Any]:
    name = f"{plain_line(result.metric.name)} ({SELF_REPORTED})"
    return {"type": plain_line(result.metric.metric), "name": name, "value": number_shown(result.figure), "verified": False}


# ------------------------------------------------------------------------------------------------------- .eval_results


def result_files(facts: Facts, tables: list[Table]) -> dict[str, str]:
    """{path: text} of the scores that card.eval_results asks for. CheckFailed where one is not what a table shows."""
    files: dict[str, list[dict[str, Any]]] = {}
    shown = [f for t in tables for row in t.rows for cell in row for f in cell.figures if f.source == "receipt"]
    for number, asked in enumerate(facts.spec.card.get("eval_results", ())):
        where = facts.spec.where(f"/card/eval_results/{number}")
        figure = facts.figure(asked["figure"], where)
        if figure.source != "receipt" or figure.rounded is None:
            raise refused(where, "is no number of a receipt", "name the receipt that holds the score")
        same = [f for f in shown if (f.file, f.pointer) == (figure.file, figure.pointer)]
        if same and number_shown(figure) not in map(number_shown, same):
            message = f"{number_shown(figure)} would be published, and the table shows {same[0].shown}"
            raise refused(where, message, "ask for the figure in the same form")
        path = f"{FOLDER}{asked['dataset'].replace('/', '--')}.yaml"
        files.setdefault(path, []).append(dict(entry(facts, asked, figure)))
    return {path: yaml_text(entries) for path, entries in files.items()}


def entry(facts: Facts, asked: Mapping[str, Any], figure: Figure) -> Iterator[tuple[str, Any]]:
    dataset = {"id": asked["dataset"], "task_id": asked["task_id"]}
    yield "dataset", {**dataset, "revision": asked["revision"]} if "revision" in asked else dataset
    yield "value", number_shown(figure)
    yield "source", {"url": f"https://huggingface.co/{facts.spec.name}/blob/main/{figure.file}", "name": SELF_REPORTED}
    notes = [asked["notes"]] if "notes" in asked else []
    known = facts.measured(figure.file, figure.pointer)
    if known:
        run, metric = known
        notes += [
            plain_line(part) for part in (run.harness, metric.name, f"{metric.shots}-shot" if metric.shots is not None else "") if part
        ]
    yield "notes", ", ".join([SELF_REPORTED, *notes])
