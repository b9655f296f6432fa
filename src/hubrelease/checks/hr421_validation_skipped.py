"""A validation says pass although a required check did not run, or none did.

Why it matters: a skipped check reads as a pass: that a server answers 200 says nothing of what it answers.
Mend: Run the check, or give the result as not-run with the reason.
Source: paiml/aprender issue 3712; cloudrift-ai/emmy PR 51.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping
from hubrelease.release import Release
from hubrelease.validation_reports import FAILED, PASSED, ValidationReport, reports

SUITE = "runtime/suite/suite.json"
MEND = "run the check, or give the result as not-run with the reason"


def run(release: Release) -> Iterator[Problem]:
    for report in reports(release):
        if report.result in PASSED and not report.is_newer and isinstance(report.body.get("checks"), list):
            yield from skipped(report)
            yield from left_out(report, release)


def left_out(report: ValidationReport, release: Release) -> Iterator[Problem]:
    """Required requests of the release's own suite of which a report that `validate` wrote has no row."""
    if report.validated_digest is None:
        return
    rows = as_mapping(release.json(SUITE)).get("requests")
    there = {check.name for check in report.checks}
    asked = [as_mapping(row) for row in (rows if isinstance(rows, list) else ())]
    needed = [row for row in asked if row.get("required") is not False and isinstance(row.get("name"), str)]
    absent = [row["name"][:80] for row in needed if not rows_of(row) & there]
    for name in absent[:20]:
        message = f"the result is pass, and the request {name} of the suite is not among its checks"
        yield CHECK.problem(Where(report.file, pointer="/checks"), message, MEND)


def rows_of(request: Mapping[str, Any]) -> set[str]:
    """Names of the checks that a request becomes; `streaming` stands for all of them where the engine has no stream."""
    name = request["name"]
    return {f"streaming:{name}", "streaming"} if request.get("kind") == "streaming" else {f"request:{name}"}


def skipped(report: ValidationReport) -> Iterator[Problem]:
    idle = [c for c in report.checks if c.required and c.status not in PASSED | FAILED]
    for check in idle[:20]:
        said = check.status or "of no status"
        yield CHECK.problem(
            Where(report.file, pointer=check.pointer), f"the result is pass, and the required check {check.name} is {said}", MEND
        )
    if not idle and not any(c.required for c in report.checks):
        what = "no check is required" if report.checks else "no check is listed"
        yield CHECK.problem(Where(report.file, pointer="/checks"), f"the result is pass, and {what}", MEND)


CHECK = Check("HR421", "validation-skipped", "skipped check counted as pass", run, waivable=False)
