"""Our own paired report of a decision benchmark (schemas/decision-report.schema.json, written by `bench report`).

Two evaluations, one for each run; a value's filter says whose it is. What compares them (differences, McNemar's p, intervals) goes
with the candidate, as the filter "comparison".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import conditions_of, counted, first_text, mapping, plain, text, versions_of, whole
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

KIND = "decision-report"
WHOLE = "all tasks"
SIDES = ("baseline", "candidate")
ENGINE, PROFILES = "sm120", ("fused", "reference")  # our decision runtime, and its server's profiles
UNITS = {"Ms": "ms", "Percent": "%", "MiB": "MiB", "Tokens": "tokens"}  # by the end of a key


@dataclass(frozen=True)
class DecisionReport:
    """The adapter."""

    name: str = "decision_report"

    def recognises(self, value: Any) -> bool:
        return isinstance(value, dict) and value.get("kind") == KIND and "schemaVersion" in value

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        for side in SIDES:
            run = mapping(mapping(value, side), "run")
            model, (engine, version, profile) = mapping(run, "model"), engine_of(run)
            yield Evaluation(
                file=file,
                harness="hubrelease bench",
                model=first_text(model, "name"),
                metrics=tuple(metrics_of(value, side)),
                revision=first_text(model, "revision", "payloadDigest"),
                harness_version=first_text(mapping(run, "tool"), "version"),
                engine=engine,
                engine_version=version,
                versions=versions_of(mapping(run, "packages")),
                hardware=hardware(run),
                conditions=(*conditions(run), *((("server profile", profile),) if profile else ())),
                has_tasks=False,
                title=text(run.get("profile")),
                sides=SIDES,
            )


def engine_of(run: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """(engine, its version, the server's profile). Runs of our own runtime once had the profile in the engine's place."""
    runtime = mapping(run, "runtime")
    name, version, profile = (first_text(runtime, key) for key in ("name", "version", "profile"))
    return (ENGINE, version, name) if profile is None and name in PROFILES else (name, version, profile)


def hardware(run: Mapping[str, Any]) -> str | None:
    gpus = mapping(run, "environment").get("gpus")
    names = [first_text(gpu, "name") for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []
    return counted(name for name in names if name)


def conditions(run: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    data = text(mapping(run, "dataset").get("name"))
    return (*((("data set", data),) if data else ()), *conditions_of(run, {"concurrency": "concurrency", "rotations": "rotations"}))


def metrics_of(value: Mapping[str, Any], side: str) -> Iterator[Metric]:
    """The figures of one run, over all tasks and by task and input length; for the candidate the comparison too."""
    yield from part(mapping(value, side), WHOLE, side, (side,))
    compared = side == SIDES[1]
    if compared:
        yield from part(mapping(value, "comparison"), WHOLE, "comparison", ("comparison",))
        yield from part(mapping(value, "probabilityDifferences"), "probability differences", "comparison", ("probabilityDifferences",))
    for key, name in (("tasks", "task"), ("buckets", "inputTokens")):
        rows = value.get(key)
        for index, row in enumerate(rows if isinstance(rows, list) else ()):
            task = (plain(row.get(name)) if isinstance(row, dict) else None) or str(index)
            yield from part(mapping(row, side), task, side, (key, index, side))
            if compared:
                yield from part(mapping(row, "comparison"), task, "comparison", (key, index, "comparison"))


def part(values: Mapping[str, Any], task: str, chosen: str, path: tuple[Any, ...]) -> Iterator[Metric]:
    """The numbers of an object, and those of its latency."""
    n = whole(values.get("rows"))
    for key, found in values.items():
        if key == "latency" and isinstance(found, dict):
            yield from part(found, task, chosen, (*path, key))
        elif (score := number(found)) is not None and key != "seed":
            unit = next((name for end, name in UNITS.items() if key.endswith(end)), "")
            yield Metric(task, key, chosen, score, pointer_to(*path, key), n=n, unit=unit)


ADAPTER = DecisionReport()
