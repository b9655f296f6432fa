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
from hubrelease.expected_texts import text_faults
from hubrelease.models import as_mapping, strings
from hubrelease.release import Release
from hubrelease.validation_reports import FAILED, PASSED, Ran, ValidationReport, is_spared, reports, suite_of

CUT = 150  # half of what a report keeps of an answer: names of the machine were replaced in it by shorter words
MEND = "mend the release and validate again, or give the result that the checks have"


def run(release: Release) -> Iterator[Problem]:
    for report in reports(release):
        if not report.is_newer:
            yield from faults(report)
            yield from unexcused(report, release)


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
        if check.status in PASSED and (why := contradiction(check, report.is_own)):
            yield CHECK.problem(Where(report.file, pointer=check.pointer), f"the check {check.name} is a pass, and {why}", MEND)


def unexcused(report: ValidationReport, release: Release) -> Iterator[Problem]:
    """Failed checks that a pass of `validate` calls not required, and the release's own suite does not."""
    if report.result not in PASSED or not report.is_own:
        return
    _, spared = suite_of(release)
    for check in report.checks:
        if check.status in FAILED and not check.required and not is_spared(check.name, spared):
            message = f"the result is pass, and the check {check.name} failed, which the release's suite requires"
            yield CHECK.problem(Where(report.file, pointer=check.pointer), message, MEND)


def contradiction(check: Ran, is_own: bool) -> str | None:
    """A passed check whose own figures say otherwise. In a report that `validate` wrote, one that has none says nothing."""
    wanted, got = check.row.get("expect"), check.row.get("output")
    if isinstance(wanted, str) and isinstance(got, str) and wanted.strip() and wanted.strip() not in got:
        return f"its output {got[:60]!r} lacks {wanted[:60]!r}"
    measured, limit = as_mapping(check.row.get("measured")), as_mapping(check.row.get("limit"))
    for key, bound in limit.items():
        if isinstance(bound, dict) and key in measured and not within(measured[key], bound):
            return f"its {key[:60]} {str(measured[key])[:60]} is outside of its limit"
        if is_own and isinstance(bound, dict) and bound.keys() & {"is", "min", "max"} and key not in measured:
            return f"its {key[:60]} was not measured"
    if is_own and not measured:
        return "nothing of it was measured"
    return next(said_otherwise(measured, limit), None) if is_own else None


def said_otherwise(measured: Mapping[str, Any], limit: Mapping[str, Any]) -> Iterator[str]:
    """What an answer lacks of what was expected, as far as the report has the answer whole."""
    output = measured.get("output")
    if isinstance(output, str) and len(output) < CUT:
        texts = {key: strings(limit.get(key)) for key in ("contains", "absent", "anyOf")}
        yield from (f"its output {fault}" for fault in text_faults(texts, output))
    got = as_mapping(measured.get("answers"))
    for name, want in as_mapping(limit.get("answers")).items():
        answer = as_mapping(got.get(name)).get("answer")
        if str(answer).lower() != str(want)[:80].lower():
            yield f"its question {name[:60]} is answered {str(answer)[:60]!r}, not {str(want)[:60]!r}"


def within(value: Any, bound: Mapping[str, Any]) -> bool:
    """False only where both are numbers, or a value that had to be another one."""
    if "is" in bound:
        return bool(value == bound["is"])
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return True
    least, most = (bound.get(key) for key in ("min", "max"))
    return not ((isinstance(least, (int, float)) and value < least) or (isinstance(most, (int, float)) and value > most))


CHECK = Check("HR422", "validation-failed", "failed validation", run, waivable=False)
