"""What was measured: receipts (a harness's raw output in the release) read to Evaluations by the adapters of benchmarks/.

One rule for every receipt, beside release.yaml and in a release: UTF-8 without a byte order mark, JSON with each key once, of a
bounded size. NaN and infinities, which harnesses write and JSON lacks, are read, listed, and never a figure: the rest of the
file stays usable. A file with another fault is still read as far as it can be, so that one fault does not hide another.
Values are the harness's own; nothing is rounded or scaled here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hubrelease.family import members
from hubrelease.strict_yaml import pointer_to
from hubrelease.verify_release import lfs_pointer, strict_json

if TYPE_CHECKING:
    from hubrelease.release import Release

REPORT = "benchmarks/release-validation.json"  # a report of our own, with checks of its own
MAX_RECEIPT_BYTES = 64 * 2**20  # vllm bench serve --save-detailed: some 40 MB for 10,000 requests
MAX_VALUES = 4_000_000  # of one receipt: `[{},{},…]` takes a hundred bytes of memory for each three of its own
MAX_ALL_BYTES = 256 * 2**20
TOO_LARGE = "leave the answers and samples out of it (they belong into a dataset), and keep the harness's summary"
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
    """`value` is None where the file can't be read even leniently; `fault` says why it is no strict JSON, NaN apart.

    `line` and `at` (the beginning of every pointer) are those of one value in a file of lines. `is_skipped`: it was not
    read, for its size; `fault` says so.
    """

    file: str
    value: Any
    fault: str | None = None
    line: int | None = None
    non_finite: tuple[NonFinite, ...] = ()
    at: str = ""
    is_skipped: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """One value of a receipt. `value` and `stderr` are None where the harness gave no number; `text` is then what it gave.

    `unit` is as a card says it (ms, s, tok/s, req/s, %); empty for scores and counts, whose scale is the harness's. It is not sure
    where neither the file nor its harness says it for certain.
    """

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
    unit: str = ""
    is_unit_sure: bool = True
    is_lower_better: bool = False  # by the file, or by a name that means a loss in any

    @property
    def name(self) -> str:
        """As a reader would say it: exact_match (strict-match)."""
        return f"{self.metric} ({self.filter})" if self.filter not in ("", "none") else self.metric


@dataclass(frozen=True)
class Evaluation:
    """One run of a harness. `model` is what its options name; `limit` is set where not all samples were meant to run.

    `engine` ran the model (vllm, hf), `harness` asked and counted. `conditions` are what else a reader must know to compare
    the run: concurrency, request rate, lengths, the text. `has_tasks` is false where the metrics have everyday names (TTFT,
    accuracy), so that a table can't be held against them by its words. `title` names the run where its values lie in
    another file of the same folder (HELM, MTEB).
    """

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
    harness_version: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    versions: tuple[tuple[str, str], ...] = ()
    precision: str | None = None
    seed: str | None = None
    hardware: str | None = None
    conditions: tuple[tuple[str, str], ...] = ()
    has_tasks: bool = True
    title: str | None = None
    shots: int | None = None  # where the run says it of all its tasks
    sides: tuple[str, ...] = ()  # filters that say whose a value is, in a receipt of two runs
    has_free_rows: bool = False  # somebody wrote the file and named its rows: it can hold both sides of a comparison


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
    from hubrelease.described_runs import joined

    kinds = declared_kinds(release)
    return tuple(joined(found for receipt in receipts(release) for found in evaluations_of(receipt, kinds.get(receipt.file))))


def declared_kinds(release: Release) -> dict[str, str]:
    """{path of a receipt: kind} of benchmarks[].kind in the spec."""
    rows = release.spec.get("benchmarks")
    found = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("kind"), str) and isinstance(row.get("receipt"), str):
            found[str(row.get("as") or f"benchmarks/{row['receipt'].rpartition('/')[2]}")] = row["kind"]
    return found


def evaluations_of(receipt: Receipt, kind: str | None = None) -> Iterator[Evaluation]:
    """What the one adapter that knows the receipt reads; where none does or two do, no more than which model it names.

    `kind` chooses among several. A list of runs is read run by run.
    """
    known = kinds_of(receipt.value)
    chosen = known & {kind} if kind else known
    if len(chosen) != 1:
        if (model := named_model(receipt.value)) is not None:
            yield Evaluation(receipt.file, "unknown", model, ())
        return
    adapter = next(adapter for adapter in adapters() if adapter.name in chosen)
    runs = [("", receipt.value)] if adapter.recognises(receipt.value) else [(f"/{n}", row) for n, row in enumerate(receipt.value)]
    for at, run in runs:
        yield from (moved(pinned(found), receipt.at + at) for found in adapter.read(receipt.file, run))


def kinds_of(value: Any) -> frozenset[str]:
    """Names of the adapters that know a receipt's value, or every one of its runs if it is a list."""
    found = frozenset(adapter.name for adapter in adapters() if adapter.recognises(value))
    if found or not isinstance(value, list) or not value:
        return found
    rest = list(adapters())
    for run in value:
        rest = [adapter for adapter in rest if isinstance(run, dict) and adapter.recognises(run)]
        if not rest:
            break
    return frozenset(adapter.name for adapter in rest)


def pinned(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the revision that its model's name holds (a snapshot of the Hub's cache, name@commit), if it has no other."""
    from hubrelease.subjects import parse as subject_of

    if evaluation.model is None or evaluation.revision is not None:
        return evaluation
    return replace(evaluation, revision=subject_of(evaluation.model).revision)


def moved(evaluation: Evaluation, at: str) -> Evaluation:
    """The evaluation with `at` before every pointer."""
    if not at:
        return evaluation
    metrics = (
        replace(m, pointer=at + m.pointer, stderr_pointer=at + m.stderr_pointer if m.stderr_pointer is not None else None)
        for m in evaluation.metrics
    )
    return replace(evaluation, metrics=tuple(metrics))


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
        if path in release.partial:
            continue
        data = release.read(path, min(MAX_RECEIPT_BYTES, max(left, 0)))
        if data is None:
            yield Receipt(path, None, "is too large to be read, so its figures are not held against the card", is_skipped=True)
            continue
        left -= len(data)
        yield from read(path, data)


def receipt_value(release: Release, path: str) -> Any:
    """What a figure's pointer into a receipt of the release is resolved in, parsed once; None where it can't be read."""
    key = f"receipt {path}"
    if key not in release.parsed:
        data = None if path in release.partial else release.read(path, MAX_RECEIPT_BYTES)
        found = [receipt.value for receipt in read(path, data)] if data is not None else [None]
        release.parsed[key] = found if path.endswith(".jsonl") else found[0]
    return release.parsed[key]


def read(file: str, data: bytes) -> Iterator[Receipt]:
    """The receipts in a file: one, or one a line of a .jsonl file. `is_skipped` where it holds more than anybody should read."""
    if fault := size_fault(len(data), data):
        yield Receipt(file, None, fault, is_skipped=True)
    elif file.endswith(".jsonl"):
        yield from lines_of(file, data)
    else:
        yield parse(file, data)


def size_fault(size: int, data: bytes = b"") -> str | None:
    """Why a receipt is too large to be read; None if it is not."""
    if size > MAX_RECEIPT_BYTES:
        return f"has {size:,} bytes, and a receipt {MAX_RECEIPT_BYTES:,} at most"
    values = sum(data.count(mark) for mark in (b"{", b"[", b","))
    return f"has more than {MAX_VALUES:,} values" if values > MAX_VALUES else None


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
    """The receipt in `data`: its value, what is wrong with its form, and its numbers that are none."""
    if fault := form_fault(data) or (None if data.strip() else "the file is empty"):
        return Receipt(file, None, fault, line, at=at)
    try:
        return Receipt(file, strict_json(data), line=line, at=at)
    except ValueError as strict:
        return lenient(file, data, in_words(strict), line, at)


MARKS = (
    (b"\xef\xbb\xbf", "begins with a byte order mark"),
    (b"\xff\xfe\0\0", "is UTF-32"),
    (b"\0\0\xfe\xff", "is UTF-32"),
    (b"\xff\xfe", "is UTF-16"),
    (b"\xfe\xff", "is UTF-16"),
)
DIGITS = re.compile(r"Exceeds the limit .* value has (\d+) digits")


PACKED = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip"))


def form_fault(data: bytes) -> str | None:
    """What the bytes are in place of JSON in UTF-8, as far as their beginning tells."""
    if lfs_pointer(data):
        return "is a git-lfs pointer, not the file"
    for mark, name in PACKED:
        if data.startswith(mark):
            return f"is compressed ({name})"
    for mark, name in MARKS:
        if data.startswith(mark):
            return f"{name}; JSON is UTF-8 without a mark"
    return "is UTF-16; JSON is UTF-8 without a mark" if data[:2].count(0) == 1 else None


def in_words(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"has bytes that are no UTF-8, first at offset {error.start}"
    digits = DIGITS.match(str(error))  # Python's own words advise to change the interpreter
    return f"holds a whole number of more digits than can be read ({int(digits[1]):,})" if digits else str(error)


def lenient(file: str, data: bytes, why: str, line: int | None, at: str) -> Receipt:
    """The value with NaN where a number is not finite; of a key given twice the last, as most readers have it."""
    doubled: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) < len(items) and not doubled:
            seen: set[str] = set()
            doubled.append(next(key for key, _ in items if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
        return value

    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return Receipt(file, None, why, line, at=at)
    found = tuple(sorted(NonFinite(at + pointer_of(path), token_of(item), line) for path, item in walk(value) if is_odd(item)))
    twice = f'has the key "{doubled[0][:60]}" twice in one object' if doubled else None
    return Receipt(file, value, twice or (None if found else why), line, found, at)


def lines_of(file: str, data: bytes) -> Iterator[Receipt]:
    """A .jsonl file: one receipt a line, its pointers beginning with the number of the value, from 0."""
    if fault := form_fault(data):
        yield Receipt(file, None, fault)
        return
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
