"""What was measured: receipts (a harness's raw output in the release) read to Evaluations by the adapters of benchmarks/.

A receipt that is no strict JSON is still read as far as it can be (NaN as no value), so that one fault does not hide
another. Values are the harness's own; nothing is rounded or scaled here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hubrelease.family import members
from hubrelease.strict_yaml import pointer_to
from hubrelease.verify_release import strict_json

if TYPE_CHECKING:
    from hubrelease.release import Release

REPORT = "benchmarks/release-validation.json"  # a report of our own, with checks of its own
MAX_RECEIPT_BYTES = 16 * 2**20
MAX_ALL_BYTES = 256 * 2**20
FOLDERS = ("benchmarks/", "evals/", "eval/", "evaluation/", "evaluations/", "results/", "eval_results/", "lm_eval/", "lm_eval_results/")
NAMES = ("results", "eval_results", "all_results", "lm_eval")
MODEL_KEYS = ("model_id", "model_name", "model_name_or_path")  # not `model`: it is often the judge
SAMPLES = "samples_"  # lm-eval's log of every answer: rows, not figures


class NonFinite(NamedTuple):
    """A NaN or an infinity in a receipt."""

    pointer: str
    token: str
    line: int | None = None


@dataclass(frozen=True)
class Receipt:
    """`value` is None where the file can't be read even leniently; `fault` says why it is no strict JSON, NaN apart."""

    file: str
    value: Any
    fault: str | None = None
    line: int | None = None
    non_finite: tuple[NonFinite, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """One value of a receipt. `value` and `stderr` are None where the harness gave no number; `text` is then what it gave."""

    task: str
    metric: str
    filter: str
    value: float | None
    pointer: str
    alias: str = ""
    stderr: float | None = None
    stderr_pointer: str | None = None
    shots: int | None = None
    version: str | None = None
    n: int | None = None
    n_total: int | None = None
    text: str = ""
    is_group: bool = False

    @property
    def name(self) -> str:
        """As a reader would say it: exact_match (strict-match)."""
        return f"{self.metric} ({self.filter})" if self.filter not in ("", "none") else self.metric


@dataclass(frozen=True)
class Evaluation:
    """One run of a harness. `model` is what its options name; `limit` is set where not all samples were meant to run."""

    file: str
    harness: str
    model: str | None
    metrics: tuple[Metric, ...]
    named: str | None = None  # the name that the file gives the model besides
    is_remote: bool = False  # a vendor's API, so `model` is that vendor's
    revision: str | None = None
    limit: float | None = None
    template: str | None = None  # hash of the chat template
    tasks_absent: tuple[tuple[str, str], ...] = ()  # (group, task): promised by the file, without a row


class Adapter(Protocol):
    """How one harness's output is read: a member of benchmarks/."""

    name: str

    def recognises(self, value: Any) -> bool: ...

    def read(self, file: str, value: Any) -> Iterator[Evaluation]: ...


@cache
def adapters() -> tuple[Any, ...]:
    import hubrelease.benchmarks as package

    return tuple(members(package, "ADAPTER"))


def read_evaluations(release: Release) -> tuple[Evaluation, ...]:
    """Every evaluation of every receipt that an adapter knows."""
    return tuple(found for receipt in receipts(release) for found in evaluations_of(receipt))


def evaluations_of(receipt: Receipt) -> Iterator[Evaluation]:
    """What the adapter that knows the receipt reads; of one that none knows, no more than which model it names."""
    for adapter in adapters():
        if adapter.recognises(receipt.value):
            yield from adapter.read(receipt.file, receipt.value)
            return
    if (model := named_model(receipt.value)) is not None:
        yield Evaluation(receipt.file, "unknown", model, ())


def named_model(value: Any) -> str | None:
    for part in (value, *(value.get(key) for key in ("config_general", "config") if isinstance(value, dict))):
        found = next((part[key] for key in MODEL_KEYS if isinstance(part.get(key), str)), None) if isinstance(part, dict) else None
        if found and found.strip():
            return str(found)
    return None


# ------------------------------------------------------------------------------------------------------------ receipts


def receipts(release: Release) -> Iterator[Receipt]:
    """Each receipt of the release, one after the other so that not all are held at once. OSError if one can't be read."""
    left = MAX_ALL_BYTES
    for path in receipt_paths(release):
        data = release.read(path, min(MAX_RECEIPT_BYTES, max(left, 0)))
        if data is not None and path not in release.partial:
            left -= len(data)
            yield from lines_of(path, data) if path.endswith(".jsonl") else [parse(path, data)]


def receipt_paths(release: Release) -> list[str]:
    """JSON files that hold results, by their role, their folder or their name."""
    declared = {subject.name for subject in release.result.provenance.subjects if subject.role == "receipt"}
    return sorted(path for path in release.files if path.endswith((".json", ".jsonl")) and is_receipt(path, path in declared))


def is_receipt(path: str, declared: bool) -> bool:
    name = path.rpartition("/")[2]
    if path == REPORT or name.startswith(SAMPLES):
        return False
    return declared or path.startswith(FOLDERS) or name.startswith(NAMES)


def parse(file: str, data: bytes, line: int | None = None, at: str = "") -> Receipt:
    try:
        return Receipt(file, strict_json(data), line=line)
    except ValueError as strict:
        return lenient(file, data, str(strict), line, at)


def lenient(file: str, data: bytes, why: str, line: int | None, at: str) -> Receipt:
    """The value with NaN where a number is not finite; of a key given twice the last, as most readers have it."""
    doubled: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) < len(items):
            doubled.append(why)
        return value

    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return Receipt(file, None, why, line)
    found = tuple(sorted(NonFinite(at + pointer_of(path), token_of(item), line) for path, item in walk(value) if is_odd(item)))
    fault = "one of its objects has a key twice" if doubled and found else why if doubled or not found else None
    return Receipt(file, value, fault, line, found)


def lines_of(file: str, data: bytes) -> Iterator[Receipt]:
    """A .jsonl file: one receipt a line, its pointers beginning with the number of the value, from 0."""
    rows = [(number, row) for number, row in enumerate(data.split(b"\n"), 1) if row.strip()]
    for index, (number, row) in enumerate(rows):
        yield parse(file, row, number, f"/{index}")


Path = tuple[Any, ...]  # (path of the parent, key): made for every value, turned into a pointer for few


def walk(value: Any) -> Iterator[tuple[Path, Any]]:
    """(path, value) of everything in a JSON value, without recursion: what was parsed can be nested deeply."""
    stack: list[tuple[Path, Any]] = [((), value)]
    while stack:
        path, item = stack.pop()
        yield path, item
        below = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        stack.extend(((path, key), inner) for key, inner in below)


def objects(value: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """(path, object) of every object in a JSON value."""
    return ((path, item) for path, item in walk(value) if isinstance(item, dict))


def pointer_of(path: Path) -> str:
    """The RFC 6901 pointer of what `walk` found."""
    steps = []
    while path:
        path, step = path
        steps.append(step)
    return pointer_to(*reversed(steps))


def is_odd(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def token_of(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number(value: Any) -> float | None:
    """A finite number of JSON; None for everything else. Integers too large for a float are none either."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
