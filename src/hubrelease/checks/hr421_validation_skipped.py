"""A validation says pass although a required check did not run, or none did.

Why it matters: a skipped check reads as a pass: that a server answers 200 says nothing of what it answers.
Mend: Run the check, or give the result as not-run with the reason.
Source: paiml/aprender issue 3712; cloudrift-ai/emmy PR 51.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.validation_reports import FAILED, PASSED, ValidationReport, reports

MEND = "run the check, or give the result as not-run with the reason"


def run(release: Release) -> Iterator[Problem]:
    for report in reports(release):
        if report.result in PASSED and not report.is_newer and isinstance(report.body.get("checks"), list):
            yield from skipped(report)


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
