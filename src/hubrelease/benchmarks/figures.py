"""Our own plain receipt for what has no harness (schemas/figures.schema.json): named values with unit and conditions.

A row's name is the task, what it was measured under (`conditions`) the filter, so that two rows of one name can be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import first_text, mapping, plain, seed_of, versions_of, whole
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

KIND = "figures"


@dataclass(frozen=True)
class Figures:
    """The adapter."""

    name: str = KIND

    def recognises(self, value: Any) -> bool:
        return isinstance(value, dict) and value.get("kind") == KIND and "schemaVersion" in value

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        engine = mapping(value, "engine")
        yield Evaluation(
            file=file,
            harness=first_text(value, "tool") or KIND,
            model=first_text(value, "model"),
            metrics=tuple(metrics_of(value)),
            revision=first_text(value, "revision"),
            engine=first_text(engine, "name"),
            engine_version=first_text(engine, "version"),
            versions=versions_of(mapping(value, "versions")),
            precision=first_text(value, "precision"),
            seed=seed_of(value.get("seed")),
            hardware=first_text(value, "hardware"),
            conditions=pairs(mapping(value, "conditions")),
            has_tasks=False,
            shots=whole(value.get("shots")),
            has_free_rows=True,
        )


def pairs(conditions: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, found) for key, item in conditions.items() if (found := plain(item)) is not None)


def metrics_of(value: Mapping[str, Any]) -> Iterator[Metric]:
    rows = value.get("rows")
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        if not isinstance(row, dict) or (name := first_text(row, "name")) is None or "value" not in row:
            continue
        under = ", ".join(f"{key} {found}" for key, found in pairs(mapping(row, "conditions")))
        given = row["value"] if isinstance(row["value"], str) else ""
        yield Metric(
            task=name,
            metric="value",
            filter=under or "none",
            value=number(row["value"]),
            pointer=pointer_to("rows", index, "value"),
            stderr=number(row.get("stderr")),
            stderr_pointer=pointer_to("rows", index, "stderr") if "stderr" in row else None,
            shots=whole(row.get("shots", value.get("shots"))),
            n=whole(row.get("n")),
            text=given,
            unit=first_text(row, "unit") or "",
        )


ADAPTER = Figures()
