"""Receipts: a harness's raw output beside release.yaml, copied unchanged and read by evaluations.py, whose rule is the rule here.

What stands in the way of every use is an error (HR602, HR605): no JSON, too large, of two kinds, not of the kind that release.yaml
says, a receipt of our own that its schema refuses. NaN and infinities of a harness are none: the receipt's other figures can be
shown, a figure that points at one is refused (HR601), and the release has a finding (HR611) until it is waived. That no adapter
knows a receipt, that it gives a figure twice, or that nothing completed in its run, is a warning: a pointer into it is as good as any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hubrelease import beside
from hubrelease import spec as specs
from hubrelease.errors import CheckFailed, OutsideError, Problem, ReleaseError, Where, problem
from hubrelease.evaluations import TOO_LARGE, Receipt, evaluations_of, kinds_of, number, read, size_fault, walk
from hubrelease.resources import schema
from hubrelease.schema_problems import validate
from hubrelease.spec import Spec

MEND = "write it again as JSON without NaN, Infinity or doubled keys"
PLAIN = "plain"  # benchmarks[].kind: pointers only
OURS = {"figures": "figures", "fidelity": "fidelity", "decision_report": "decision-report"}  # adapter → schema
KNOWN = "lm_eval, lighteval, vllm, sglang, mteb, helm, decision_report, fidelity, figures"
COMPLETED = ("completed", "successful_requests")  # in serving benchmarks
MAX_SHOWN = 10  # faults of one file


def parse(name: str, data: bytes, has_non_finite: bool = False) -> Any:
    """A receipt's value: the object of a .json file, the list of lines of a .jsonl file. CheckFailed (HR602).

    `has_non_finite` lets NaN and infinities pass.
    """
    found = list(read(name, data))
    if faults := [fault for receipt in found for fault in faults_of(receipt, data, has_non_finite)]:
        raise CheckFailed(faults[:MAX_SHOWN])
    return [receipt.value for receipt in found] if name.endswith(".jsonl") else found[0].value


def faults_of(receipt: Receipt, data: bytes, has_non_finite: bool) -> Iterator[Problem]:
    where = Where(receipt.file, receipt.line)
    if receipt.is_skipped:
        yield problem("receipt-unreadable", where, str(receipt.fault), TOO_LARGE)
    elif receipt.fault:
        yield problem("receipt-unreadable", where, f"is not strict JSON: {receipt.fault[:200]}", mend_of(receipt, data))
    elif receipt.non_finite and not has_non_finite:
        first = receipt.non_finite[0]
        place = Where(receipt.file, receipt.line, first.pointer)
        yield problem("receipt-unreadable", place, f"is not strict JSON: holds {first.token}", MEND)


def mend_of(receipt: Receipt, data: bytes) -> str:
    fault = receipt.fault or ""
    if "byte order mark" in fault or "UTF-16" in fault or "UTF-32" in fault or "UTF-8" in fault:
        return "save it as UTF-8 without a byte order mark"
    if "git-lfs" in fault:
        return "run `git lfs pull`, and take the file itself"
    if "compressed" in fault:
        return "unpack it"
    if not receipt.file.endswith((".json", ".jsonl")):
        return "a receipt is JSON or JSON lines: write the figures as `kind: figures` (schemas/figures.schema.json)"
    if fault.startswith("Extra data") and receipt.line is None and data.strip().count(b"\n"):
        return "give it the ending .jsonl if it has one value a line"
    return MEND


def read_all(spec: Spec) -> dict[str, tuple[bytes, Any]]:
    """{path in the release: (bytes, value)} of every receipt of the spec. Raises with all problems at once."""
    found: dict[str, tuple[bytes, Any]] = {}
    problems: list[Problem] = []
    for index, receipt in enumerate(spec.receipts):
        try:
            found[receipt.to] = read_one(spec, receipt, index)
        except ReleaseError as error:
            problems += error.problems
    if problems:
        raise (OutsideError if all(p.undecided for p in problems) else CheckFailed)(problems)
    return found


def read_one(spec: Spec, receipt: specs.Receipt, index: int) -> tuple[bytes, Any]:
    """Bytes and value of a receipt. Its size is looked at before it is read."""
    path = beside.find(spec, receipt.path, f"/benchmarks/{index}/receipt")
    if fault := size_fault(size_of(path)):
        raise CheckFailed(problem("receipt-unreadable", receipt.path, fault, TOO_LARGE))
    data = beside.read(spec, receipt.path, f"/benchmarks/{index}/receipt")
    value = parse(receipt.path, data, has_non_finite=True)
    if problems := [*kind_problems(spec, receipt, index, value), *own_problems(receipt, data, value)]:
        raise CheckFailed(problems)
    return data, value


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it says why


def kind_problems(spec: Spec, receipt: specs.Receipt, index: int, value: Any) -> Iterator[Problem]:
    """A receipt of two kinds, or not of the one that release.yaml says."""
    known = sorted(kinds_of(value))
    if receipt.kind in (None, PLAIN):
        if len(known) > 1 and receipt.kind is None:
            message = f"can be a receipt of {' and of '.join(known)}"
            yield problem("receipt-kind", receipt.path, message, f"add `kind: {known[0]}` (or another) to its entry in release.yaml")
    elif receipt.kind not in known:
        where, said = spec.where(f"/benchmarks/{index}/kind"), f"is one of {known[0]}" if known else "fits no kind that is known"
        message = f'{receipt.path} is no receipt of "{receipt.kind}": it {said}'
        yield problem("receipt-kind", where, message, "correct `kind`, leave it out, or take the right file")


def own_problems(receipt: specs.Receipt, data: bytes, value: Any) -> Iterator[Problem]:
    """Receipts of our own are held against their schema, and have no NaN."""
    if receipt.kind == PLAIN or not isinstance(value, dict):
        return
    for kind in sorted(kinds_of(value) & OURS.keys()):
        name = OURS[kind]
        try:
            parse(receipt.path, data)
        except CheckFailed as error:
            yield from error.problems
            return
        for fault in validate(value, schema(name), lambda pointer: Where(receipt.path, None, pointer))[:MAX_SHOWN]:
            yield problem("receipt-kind", fault.where, f"as a receipt of kind {name}: {fault.message}", f"see schemas/{name}.schema.json")


def warnings(spec: Spec, found: Mapping[str, tuple[bytes, Any]]) -> Iterator[Problem]:
    """Receipts that nothing but a pointer can read, and figures that stand twice in one."""
    for receipt in spec.receipts:
        if receipt.kind == PLAIN:
            continue
        value = found[receipt.to][1]
        if not kinds_of(value) and any(number(item) is not None for _, item in walk(value)):
            message = f"is no receipt that is known ({KNOWN}): what was measured, and with what, can't be said in the card"
            mend = "write it as `kind: figures` (schemas/figures.schema.json), or add `kind: plain` to its entry in release.yaml"
            yield problem("receipt-kind", receipt.path, message, mend, severity="warning")
        yield from doubles(receipt, value)
        yield from empty_runs(receipt, value)


def empty_runs(receipt: specs.Receipt, value: Any) -> Iterator[Problem]:
    """Serving benchmarks in which nothing completed: their latencies and rates are 0, and nobody measured them."""
    for evaluation in evaluations_of(Receipt(receipt.path, value), receipt.kind):
        for metric in evaluation.metrics:
            if metric.metric in COMPLETED and metric.value == 0 and not evaluation.has_tasks:
                message = "no request completed, so its latencies and rates are those of nothing"
                mend = "run it again, or leave it out of the card"
                yield problem("receipt-kind", Where(receipt.path, None, metric.pointer), message, mend, severity="warning")


def doubles(receipt: specs.Receipt, value: Any) -> Iterator[Problem]:
    for evaluation in evaluations_of(Receipt(receipt.path, value), receipt.kind):
        names = Counter((m.task, m.metric, m.filter, m.shots) for m in evaluation.metrics)
        for (task, metric, _, _), count in [item for item in names.items() if item[1] > 1][:MAX_SHOWN]:
            message = f"gives {metric[:60]} of {task[:60]} {count} times"
            mend = "name the one that is meant by its pointer, or remove the others"
            yield problem("receipt-kind", receipt.path, message, mend, severity="warning")
