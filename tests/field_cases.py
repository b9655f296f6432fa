"""The cases from the field: made by tests/cases/make_cases.py, judged by `hubrelease.verify`. Used by tests and bench/cases.py."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hubrelease import verifier
from hubrelease.verifier import Verdict

HERE = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Judged:
    """A case and what verify made of it. `alarms` are findings that the case does not allow."""

    ident: str
    expected: dict
    found: bool
    alarms: tuple[str, ...]

    @property
    def good(self) -> bool:
        return self.found and not self.alarms


def make(folder: Path, *options: str) -> list[Path]:
    """Writes the cases below `folder`; their folders, sorted."""
    subprocess.run([sys.executable, str(HERE / "make_cases.py"), str(folder), *options], check=True, stdout=subprocess.DEVNULL)
    return sorted((folder / "cases").iterdir())


def verdict_of(case: Path) -> Verdict:
    """Verifies a case's release as its files ask: against a rebuild, against a stored listing of the remote."""
    options = {}
    if (case / "remote_tree.json").exists():
        options["remote_tree"] = case / "remote_tree.json"
    if (case / "rebuild").exists():
        options["against"] = case / "rebuild"
    return verifier.verify(case / "release", **options)


def judge(case: Path) -> Judged:
    expected = json.loads((case / "expected.json").read_text())
    problems = verdict_of(case).problems
    if expected["severity"] == "ok":
        return Judged(expected["id"], expected, True, tuple(text(p) for p in problems))
    wanted = (expected["kind"], expected["severity"], expected["file"])
    found = any((p.kind, p.severity, p.where.file) == wanted for p in problems)
    allowed = {expected["kind"], *expected["may_also_report"]}
    return Judged(expected["id"], expected, found, tuple(text(p) for p in problems if p.kind not in allowed))


def text(problem) -> str:
    return f"{problem.where.file}: {problem.code} {problem.kind} ({problem.severity}): {problem.message}"
