"""What `validate` was asked, and what a run found: its problems, its exit code, its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hubrelease.errors import Exit, Problem, Where, problem
from hubrelease.resealing import Resealed

RUNTIMES = ("sm120", "transformers", "vllm", "openai")
DEVICES = ("cpu", "cuda")
SUITES = ("full", "functional")
PASS, FAIL, SKIPPED = "pass", "fail", "skipped"
WAS_THE_END = "was the end"  # of the reason of a check that was not run because an earlier one ended the engine


@dataclass(frozen=True)
class Asked:
    """What to run on what. `runtime` None takes the one of release.yaml; `image` is the container that this runs in, for the report."""

    runtime: str | None = None
    device: str | None = None
    base_url: str | None = None
    suite: str = "full"
    image: str | None = None


@dataclass(frozen=True)
class Validated:
    """`file` is where the report lies. `written`: None where the run decided nothing and the release is as it was."""

    folder: Path
    file: str
    report: dict[str, Any]
    resealed: Resealed

    @property
    def result(self) -> str:
        return str(self.report["result"])

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What failed, and what was required and could not be run."""
        rows = [(number, row) for number, row in enumerate(self.report["checks"])]
        failed = [row_problem("validation-check-failed", self.file, n, row) for n, row in rows if row["status"] == FAIL and row["required"]]
        idle = [(number, row) for number, row in rows if row["status"] == SKIPPED and row["required"]]
        after = [row["name"] for _, row in idle if str(row.get("reason", "")).endswith(WAS_THE_END)]
        alone = [row_problem("validation-incomplete", self.file, n, row) for n, row in idle if row["name"] not in after]
        rest = [never_reached(self.file, after)] if after else []
        return (*failed, *(replace(item, undecided=True) for item in (*alone, *rest)), *self.resealed.warnings)

    @property
    def exit(self) -> Exit:
        return {"pass": Exit.GOOD, "fail": Exit.BAD}.get(self.result, Exit.OUTSIDE)


def row_problem(kind: str, file: str, number: int, row: dict[str, Any]) -> Problem:
    said = {"validation-check-failed": "failed", "validation-incomplete": "could not be run"}[kind]
    mend = "mend the release and validate again" if kind == "validation-check-failed" else "validate where it can be run"
    return problem(
        kind, Where(file, pointer=f"/checks/{number}"), f"the check {row['name']} {said}: {row.get('reason', 'no reason given')}", mend
    )


def never_reached(file: str, names: list[str]) -> Problem:
    """One problem for all that one end kept from being run."""
    message = f"nothing could be asked after that: {', '.join(names)} were not run"
    return problem("validation-incomplete", Where(file, pointer="/checks"), message, "mend what failed and validate again")


def lines(done: Validated) -> Iterator[str]:
    """What a run found, for people."""
    shown = {PASS: "ok", FAIL: "FAILED", SKIPPED: "not run"}
    for row in done.report["checks"]:
        optional = "" if row["required"] else " (not required)"
        yield f"{shown[row['status']]:8} {row['name']}{optional}" + (f": {row['reason']}" if row.get("reason") else "")
    yield f"{done.result}: {done.file}, for the payload {done.report['subject']['payloadDigest']}"
    yield from done.resealed.notes
