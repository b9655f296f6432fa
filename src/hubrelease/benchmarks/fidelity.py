"""Our own receipt of how near converted weights are to their reference (schemas/fidelity.schema.json).

Perplexity of both over the same text, or over the reference's own answers, and how often both rank the same token first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import LOSSES, first_text, mapping, plain, text, versions_of, whole
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

KIND = "fidelity"
FIGURES = (("perplexity", "reference", ""), ("perplexity", "candidate", ""), ("top1Agreement", "agreed", "tokens"),
           ("top1Agreement", "total", "tokens"), ("top1Agreement", "share", ""))  # fmt: skip


@dataclass(frozen=True)
class Fidelity:
    """The adapter."""

    name: str = KIND

    def recognises(self, value: Any) -> bool:
        return isinstance(value, dict) and value.get("kind") == KIND and "schemaVersion" in value

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        model, environment = mapping(value, "model"), mapping(value, "environment")
        yield Evaluation(
            file=file,
            harness="hubrelease bench",
            model=first_text(model, "name"),
            metrics=tuple(metrics_of(value)),
            revision=first_text(model, "revision", "digest"),
            versions=versions_of(mapping(environment, "versions")),
            precision=first_text(value, "format"),
            hardware=first_text(environment, "device"),
            conditions=tuple(conditions(value)),
            has_tasks=False,
            sides=("reference", "candidate"),
        )


def metrics_of(value: Mapping[str, Any]) -> Iterator[Metric]:
    task = first_text(mapping(value, "text"), "name") or "text"
    n = whole(mapping(value, "top1Agreement").get("total"))
    for part, key, unit in FIGURES:
        if (score := number(mapping(value, part).get(key))) is not None:
            is_loss = part in LOSSES
            yield Metric(task, part, key, score, pointer_to(part, key), n=None if is_loss else n, unit=unit, is_lower_better=is_loss)


def conditions(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    reference, over = mapping(value, "reference"), mapping(value, "text")
    if name := first_text(reference, "name"):
        at = first_text(reference, "revision", "digest")
        yield "reference", f"{name} at {at[:12]}" if at else name
    if name := text(over.get("name")):
        tokens, prompts = plain(over.get("tokens")), plain(mapping(value, "answers").get("prompts"))
        of = f"{name}, the reference's greedy answers to {prompts} prompts" if prompts else name
        yield "text", f"{of}, {tokens} tokens" if tokens else of


ADAPTER = Fidelity()
