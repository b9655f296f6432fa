"""Receipts: a harness's raw output beside release.yaml, copied unchanged and read as strict JSON (or JSON lines)."""

from __future__ import annotations

from typing import Any

from hubrelease import beside
from hubrelease.errors import CheckFailed, OutsideError, Problem, ReleaseError, Where, problem
from hubrelease.spec import Spec
from hubrelease.verify_release import strict_json

MEND = "write it again as JSON without NaN, Infinity or doubled keys"


def parse(name: str, data: bytes) -> Any:
    """A receipt's value: the object of a .json file, the list of lines of a .jsonl file. CheckFailed (HR602)."""
    if name.endswith(".jsonl"):
        return [value_of(name, line, number) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    return value_of(name, data)


def value_of(name: str, data: bytes, line: int | None = None) -> Any:
    try:
        return strict_json(data)
    except ValueError as error:
        where = Where(name, line or getattr(error, "lineno", None))
        raise CheckFailed(problem("receipt-unreadable", where, f"is not strict JSON: {error}", MEND)) from None


def read_all(spec: Spec) -> dict[str, tuple[bytes, Any]]:
    """{path in the release: (bytes, value)} of every receipt of the spec. Raises with all problems at once."""
    found: dict[str, tuple[bytes, Any]] = {}
    problems: list[Problem] = []
    for number, receipt in enumerate(spec.receipts):
        try:
            data = beside.read(spec, receipt.path, f"/benchmarks/{number}/receipt")
            found[receipt.to] = (data, parse(receipt.path, data))
        except ReleaseError as error:
            problems += error.problems
    if problems:
        raise (OutsideError if all(p.undecided for p in problems) else CheckFailed)(problems)
    return found
