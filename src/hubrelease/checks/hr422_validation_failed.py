"""A check of the validation failed.

Why it matters: a pass that does not follow from its checks is none; an honest fail says that these bytes do not work.
Mend: Mend the release and validate again, or give the result that the checks have.
Source: cloudrift-ai/emmy PR 51 (the output was garbage, the check passed); paiml/aprender issue 3712.

An error where the result says pass all the same, or where a passed check's own output lacks what it expected; a warning
where the result says fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping
from hubrelease.release import Release
from hubrelease.validation_reports import FAILED, PASSED, Ran, ValidationReport, reports

MEND = "mend the release and validate again, or give the result that the checks have"


def run(release: Release) -> Iterator[Problem]:
    for report in reports(release):
        if not report.is_newer:
            yield from faults(report)


def faults(report: ValidationReport) -> Iterator[Problem]:
    failed = [c for c in report.checks if c.required and c.status in FAILED]
    if report.result in PASSED:
        for check in failed[:20]:
            yield CHECK.problem(
                Where(report.file, pointer=check.pointer), f"the result is pass, and the required check {check.name} failed", MEND
            )
    elif report.result in FAILED:
        names = ", ".join(c.name for c in failed[:5]) or "no check says why"
        yield CHECK.problem(
            Where(report.file, pointer="/result"), f"these bytes failed their validation ({names})", MEND, severity="warning"
        )
    for check in report.checks:
        if check.status in PASSED and (why := contradiction(check)):
            yield CHECK.problem(Where(report.file, pointer=check.pointer), f"the check {check.name} is a pass, and {why}", MEND)


def contradiction(check: Ran) -> str | None:
    """A passed check whose own figures say otherwise."""
    wanted, got = check.row.get("expect"), check.row.get("output")
    if isinstance(wanted, str) and isinstance(got, str) and wanted.strip() and wanted.strip() not in got:
        return f"its output {got[:60]!r} lacks {wanted[:60]!r}"
    measured, limit = as_mapping(check.row.get("measured")), as_mapping(check.row.get("limit"))
    for key, bound in limit.items():
        if isinstance(bound, dict) and key in measured and not within(measured[key], bound):
            return f"its {key[:60]} {str(measured[key])[:60]} is outside of its limit"
    return None


def within(value: Any, bound: Mapping[str, Any]) -> bool:
    """False only where both are numbers, or a value that had to be another one."""
    if "is" in bound:
        return bool(value == bound["is"])
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return True
    least, most = (bound.get(key) for key in ("min", "max"))
    return not ((isinstance(least, (int, float)) and value < least) or (isinstance(most, (int, float)) and value > most))


CHECK = Check("HR422", "validation-failed", "failed validation", run, waivable=False)
