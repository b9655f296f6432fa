"""lm-evaluation-harness: results_*.json of versions 0.3 (metric keys such as `acc`) and 0.4 (`acc,none`), groups included.

Written by lm_eval/loggers/evaluation_tracker.py and evaluator.py (0.4.13). `model_args` is text (`pretrained=…,dtype=…`, since
0.4.9 JSON as well) or a mapping; a standard error that was not computed is the text N/A; a heading row of a group has blank
values. Machine and packages stand in `pretty_env_info`, which is PyTorch's collect_env as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import LOSSES, counted, first_text, mapping, precision_of, seed_of, text, whole
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

NAMING = ("peft", "lora_local_path", "delta", "pretrained", "model", "path", "engine")  # what is measured, the most specific first
REMOTE = ("openai-completions", "openai-chat-completions", "anthropic-completions", "anthropic-chat", "anthropic-chat-completions")
NOT_METRICS = ("alias", "name", "sample_len", "sample_count", "samples")
STDERR = "_stderr"
COMMIT = re.compile(r"[0-9a-f]{40}")
TORCH = re.compile(r"^PyTorch version: (\S{1,60})$", re.M)
GPU = re.compile(r"^(?:GPU models and configuration: ?)?GPU \d+: (.{1,80})$", re.M)
ONE_GPU = re.compile(r"^GPU models and configuration: ?(?!GPU \d+:|Could not|No CUDA|N/A|None)(\S.{0,79})$", re.M)  # of AMD
ADAPTERS = {"peft": "peft_sha", "delta": "delta_sha", "lora_local_path": ""}  # what lies over a base, and where its commit stands


@dataclass(frozen=True)
class LmEval:
    """The adapter."""

    name: str = "lm_eval"

    def recognises(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("results"), dict) or not value["results"]:
            return False
        if not all(isinstance(row, dict) for row in value["results"].values()):
            return False
        config = mapping(value, "config")
        if "model_args" in config or ("versions" in value and ("n-shot" in value or "model" in config)):
            return True
        return value.keys() == {"results", "versions"} and value["results"].keys() == mapping(value, "versions").keys()  # evaluate() of 0.3

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        config = mapping(value, "config")
        options = options_of(config.get("model_args"))
        template, limit = value.get("chat_template_sha"), number(config.get("limit"))
        machine = text(value.get("pretty_env_info"), 100_000) or ""
        named = next((key for key in NAMING if options.get(key)), "")
        yield Evaluation(
            file=file,
            harness=self.name,
            model=options.get(named),
            metrics=tuple(metrics_of(value)),
            named=text(value.get("model_name")),
            is_remote=config.get("model") in REMOTE and "base_url" not in options,
            revision=revision_of(config, options, named),
            limit=limit if limit is not None and limit > 0 else None,
            template=template if isinstance(template, str) else None,
            tasks_absent=tuple(absent_tasks(value)),
            harness_version=first_text(value, "lm_eval_version", "git_hash"),
            engine=text(config.get("model")),
            versions=versions(value, machine),
            precision=precision_of(config.get("model_dtype"), options.get("dtype")),
            seed=seed_of(config.get("random_seed")),
            hardware=counted(GPU.findall(machine)) or next(iter(ONE_GPU.findall(machine)), None),
        )


def revision_of(config: Mapping[str, Any], options: Mapping[str, str], named: str) -> str | None:
    """What was asked for; where that is a branch or nothing, the commit that was loaded, if the harness wrote it down.

    Of an adapter only its own commit: what was asked for is its base's.
    """
    if named in ADAPTERS:
        return text(config.get(ADAPTERS[named]))
    asked, loaded = options.get("revision"), text(config.get("model_sha"))
    return asked if asked and (COMMIT.fullmatch(asked) or not loaded) else loaded


def versions(value: Mapping[str, Any], machine: str) -> tuple[tuple[str, str], ...]:
    torch, transformers = TORCH.search(machine), text(value.get("transformers_version"))
    return (*((("torch", torch[1]),) if torch else ()), *((("transformers", transformers),) if transformers else ()))


def options_of(arguments: Any) -> dict[str, str]:
    """The model's options, from text or from a mapping."""
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    if isinstance(arguments, dict):
        return {key: value for key, value in arguments.items() if isinstance(value, str)}
    if not isinstance(arguments, str):
        return {}
    pairs = (part.partition("=") for part in arguments.split(","))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def metrics_of(value: Mapping[str, Any]) -> Iterator[Metric]:
    """Every value of every row. Groups stand among the results too; a group that stands alone is read from `groups`."""
    results, groups = value["results"], {task: row for task, row in mapping(value, "groups").items() if isinstance(row, dict)}
    has_filters = any("," in key for row in (*results.values(), *groups.values()) for key in row)
    found = {task: list(row_metrics(value, task, row, "results", has_filters)) for task, row in results.items()}
    for task, row in groups.items():
        if not found.get(task):
            found[task] = list(row_metrics(value, task, row, "groups", has_filters))
    for metrics in found.values():
        yield from metrics


def row_metrics(value: Mapping[str, Any], task: str, row: Mapping[str, Any], part: str, has_filters: bool) -> Iterator[Metric]:
    alias = row.get("alias")
    samples = mapping(mapping(value, "n-samples"), task)
    for key, found in row.items():
        name, _, chosen = key.partition(",")
        is_metric = ("," in key) == has_filters and name.strip() and not name.endswith(STDERR) and key not in NOT_METRICS
        if not is_metric or isinstance(found, (dict, list, bool)):
            continue
        error = f"{name}{STDERR},{chosen}" if has_filters else f"{name}{STDERR}"
        yield Metric(
            task=task,
            metric=name,
            filter=chosen if has_filters else "none",
            value=number(found),
            pointer=pointer_to(part, task, key),
            alias=alias if isinstance(alias, str) else "",
            stderr=number(row.get(error)),
            stderr_pointer=pointer_to(part, task, error) if error in row else None,
            shots=shots_of(value, task),
            version=version_of(value, task),
            n=whole(samples.get("effective")),
            n_total=whole(samples.get("original")),
            text=found if isinstance(found, str) else "",
            is_group=task in mapping(value, "groups"),
            is_lower_better=mapping(mapping(value, "higher_is_better"), task).get(name) is False or name in LOSSES,
        )


def shots_of(value: Mapping[str, Any], task: str) -> int | None:
    given = mapping(value, "n-shot").get(task, mapping(mapping(value, "configs"), task).get("num_fewshot"))
    return whole(given if given is not None else mapping(value, "config").get("num_fewshot"))


def version_of(value: Mapping[str, Any], task: str) -> str | None:
    """As text, so that 1 and 1.0 are the same and "Yaml" (a task that states none) is none."""
    given = mapping(value, "versions").get(task)
    found = number(given)
    if found is not None:
        return f"{found:g}"
    return given if isinstance(given, str) and given not in ("", "Yaml", "N/A") else None


def absent_tasks(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(group, task) of tasks that a group with a score of its own is made of and that have no row."""
    scored = {**mapping(value, "groups"), **value["results"]}
    for group, tasks in mapping(value, "group_subtasks").items():
        row = scored.get(group)
        has_score = isinstance(row, dict) and any(number(found) is not None for key, found in row.items() if key not in NOT_METRICS)
        if has_score and isinstance(tasks, list):
            yield from ((group, task) for task in tasks if isinstance(task, str) and task not in scored)


ADAPTER = LmEval()
