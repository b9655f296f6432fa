"""Tiny releases with a card and receipts of one's choice, judged by the checks on cards and claims alone.

    judged(tmp_path, front={"license": "mit"}, body="text", receipts={"benchmarks/a.json": lm_eval(...)})  -> list of Problem

`front` replaces keys of a good card's metadata (None leaves one out; text is written as YAML as it stands), `card` replaces the
whole file. Every problem must have a sentence, a mend and a place; the checks of other ranges are not run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tiny

from hubrelease import verify_release
from hubrelease.checks import checks
from hubrelease.errors import Problem
from hubrelease.release import Release

RANGES = ("HR51", "HR52", "HR61", "HR62")
FRONT = {
    "license": "apache-2.0",
    "base_model": "example-org/tiny-base",
    "base_model_relation": "finetune",
    "pipeline_tag": "text-generation",
    "library_name": "transformers",
}
RECEIPT = "benchmarks/results.json"


def card_text(front: Mapping[str, str | None] | None = None, body: str = "A tiny model for tests.") -> bytes:
    rows = [f"{key}: {value}" for key, value in {**FRONT, **(front or {})}.items() if value is not None]
    return "\n".join(["---", *rows, "---", "", f"# {tiny.NAME.split('/')[1]}", "", body, ""]).encode()


def lm_eval(model: str | dict[str, Any] | None = tiny.NAME, results: Mapping[str, Mapping[str, Any]] | None = None, **more: Any) -> bytes:
    """A results file of lm_eval 0.4: gsm8k under two filters and hellaswag, unless `results` are given."""
    rows = results if results is not None else {
        "gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.42, "exact_match_stderr,strict-match": 0.0136,
                  "exact_match,flexible-extract": 0.45, "exact_match_stderr,flexible-extract": 0.0137},
        "hellaswag": {"alias": "hellaswag", "acc,none": 0.5013, "acc_stderr,none": 0.005, "acc_norm,none": 0.6125, "acc_norm_stderr,none": 0.0049},
    }  # fmt: skip
    arguments = f"pretrained={model},dtype=auto" if isinstance(model, str) else model
    value = {
        "results": rows,
        "versions": dict.fromkeys(rows, 1.0),
        "n-shot": dict.fromkeys(rows, 5),
        "n-samples": {task: {"original": 1000, "effective": 1000} for task in rows},
        "config": {"model": "vllm", "model_args": arguments, "limit": None},
        **({"model_name": model} if isinstance(model, str) else {}),
        **more,
    }
    return json.dumps(value).encode()


def table(*rows: str) -> str:
    """A pipe table of rows such as "task | value"."""
    head, *rest = rows
    bars = head.count("|") - head.count("\\|")
    return "\n".join([f"| {head} |", "|" + "---|" * (bars + 1), *(f"| {row} |" for row in rest)])


def release_of(
    root: Path,
    *,
    front: Mapping[str, str | None] | None = None,
    body: str = "A tiny model for tests.",
    card: bytes | None = None,
    receipts: Mapping[str, bytes] | None = None,
    files: Mapping[str, bytes | None] | None = None,
    spec: Mapping[str, Any] | None = None,
    dependencies: list[dict[str, Any]] | None = None,
    bare: bool = False,
) -> Release:
    text = card if card is not None else card_text(front, body)
    tiny.release(root, {"README.md": text, **(receipts or {}), **(files or {})}, spec)
    if dependencies is not None:
        tiny.edit(root, lambda s: s["predicate"]["buildDefinition"].update(resolvedDependencies=dependencies))
    if bare:
        (root / tiny.PROVENANCE).unlink()
    return Release(root, verify_release.check_folder(root))


def judged(root: Path, **options: Any) -> list[Problem]:
    """What the checks on cards and claims find."""
    release = release_of(root, **options)
    found = [problem for check in checks() if check.code.startswith(RANGES) for problem in check.run(release)]
    assert all(p.message and p.mend and "\n" not in p.message and len(p.message) < 700 and p.where.file for p in found)
    return found


def kinds(found: list[Problem]) -> set[tuple[str, str, str]]:
    """(kind, severity, file) of each problem."""
    return {(p.kind, p.severity, p.where.file) for p in found}
