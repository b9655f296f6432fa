"""Rows files for tests and bench: single rows with chosen values, and two whole generated runs over the same questions."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HEADER = {
    "kind": "decision-run",
    "schemaVersion": 1,
    "profile": "FP8",
    "model": {"name": "example-org/tiny", "revision": "0" * 40, "payloadDigest": "a" * 64},
    "runtime": {"name": "sm120", "version": "0.1.0"},
    "concurrency": 1,
    "rotations": 4,
}
TASKS = ("routing", "sentiment", "grading")
TYPES = ("choice", "noul", "score")
LENGTHS = ((20, 256), (257, 1024), (1025, 4096), (4097, 16384), (16385, 40000))


def row(number: int = 0, **changed: Any) -> dict[str, Any]:
    """A row that was answered, with `changed` in place of what it has. None takes a key away."""
    value = {
        "id": f"row-{number:05d}",
        "task": "routing",
        "type": "choice",
        "label": "a",
        "candidates": ["a", "b", "c"],
        "probabilities": [0.5, 0.25, 0.25],
        "choice": "a",
        "latencyMs": 40.0 + number,
        "inputTokens": 100,
        "status": "ok",
        "requestDigest": hashlib.sha256(b"%d" % number).hexdigest(),
        "rotations": 4,
    }
    return {key: item for key, item in (value | changed).items() if item is not None}


def line(value: object) -> bytes:
    """As `bench run` writes it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def write(path: Path, rows: Iterable[Any], **header: Any) -> Path:
    """A rows file with its header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        out.write(line(HEADER | header))
        out.writelines(map(line, rows))
    return path


def session(event: str, watts: float | None = 395.0, peak: float | None = None, samples: int = 0, **more: Any) -> dict[str, Any]:
    """A session record."""
    value: dict[str, Any] = {"kind": "decision-session", "event": event, **more}
    if watts is not None:
        value["powerLimitW"] = [watts]
    if peak is not None:
        value["memory"] = {"scope": "process", "peakMiB": peak, "samplePeriodS": 1.0, "samples": samples}
    return value


def answered(values: random.Random, number: int) -> dict[str, Any]:
    """A question of one of three types and five lengths with a random answer."""
    kind = number % 3
    count = (values.randint(3, 12), 2, 5)[kind]
    names = [f"option {k}" for k in range(count)] if kind == 0 else ["true", "false"] if kind == 1 else [str(k) for k in range(count)]
    tokens = values.randint(*LENGTHS[values.choices(range(5), (24, 51, 18, 5, 2))[0]])
    label = values.randrange(count)
    weights = [values.gammavariate(0.5, 1) + (3 if k == label and values.random() < 0.7 else 0) + 1e-9 for k in range(count)]
    return row(
        number,
        task=TASKS[kind],
        type=TYPES[kind],
        label=names[label],
        candidates=names,
        inputTokens=tokens,
        **answer(names, weights),
        latencyMs=round(30 + tokens * values.uniform(0.3, 0.5), 3),
    )


def answer(names: list[str], weights: list[float]) -> dict[str, Any]:
    """Probabilities and choice from weights."""
    probabilities = [w / sum(weights) for w in weights]
    return {"probabilities": probabilities, "choice": names[probabilities.index(max(probabilities))]}


def shaken(values: random.Random, before: dict[str, Any]) -> dict[str, Any]:
    """The answer of another profile to the same question: a little different, and faster."""
    weights = [p * values.uniform(0.97, 1.03) + 1e-4 * values.random() for p in before["probabilities"]]
    if values.random() < 0.02:
        values.shuffle(weights)
    return before | answer(before["candidates"], weights) | {"latencyMs": round(before["latencyMs"] * values.uniform(0.55, 0.7), 3)}


def runs(count: int, seed: int = 1) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """`count` pairs of rows (baseline, candidate)."""
    values = random.Random(seed)
    for number in range(count):
        before = answered(values, number)
        yield before, shaken(values, before)


def two_runs(folder: Path, count: int, seed: int = 1) -> tuple[Path, Path]:
    """Two finished rows files over the same questions, with samples: (baseline, candidate)."""
    made = list(runs(count, seed))
    files = []
    for side, profile in enumerate(("BF16", "FP8")):
        rows = [session("start", warmupRows=8), *(pair[side] for pair in made), session("end", 395.0, 19968.0 - 4000 * (side == 0), 900)]
        files.append(write(folder / f"{profile.lower()}.jsonl", rows, profile=profile))
    return files[0], files[1]
