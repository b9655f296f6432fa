"""A validation says pass although a required check did not run, or none did.

Why it matters: a skipped check reads as a pass: that a server answers 200 says nothing of what it answers.
Mend: Run the check, or give the result as not-run with the reason.
Source: paiml/aprender issue 3712; cloudrift-ai/emmy PR 51.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.manifest import REPORT
from hubrelease.models import as_mapping, strings
from hubrelease.release import Release
from hubrelease.validation_reports import FAILED, FUNCTIONAL, PASSED, ValidationReport, is_spared, reports, rows_of, suite_of

# Rows of the probes that always run or say why not (validator.PROBES); requests are those of the suite.
ALWAYS = ("kernels|kernel:.*", "start", "load", "logits(:finite)?", "logits|canary:entropy", "repetition|canary:repetition",
          "determinism", "latency(:.*)?", "soak", "memory")  # fmt: skip
MEND = "run the check, or give the result as not-run with the reason"


def run(release: Release) -> Iterator[Problem]:
    for report in reports(release):
        if report.result in PASSED and not report.is_newer and isinstance(report.body.get("checks"), list):
            yield from skipped(report)
            yield from left_out(report, release)


def left_out(report: ValidationReport, release: Release) -> Iterator[Problem]:
    """What a report that `validate` wrote has no row of, or one that is not required though the release's own suite requires it."""
    if not report.is_own:
        return
    requests, spared = suite_of(release)
    there = {check.name for check in report.checks}
    idle = {check.name for check in report.checks if not check.required and not is_spared(check.name, spared)}
    for pattern in always(report, release):
        if not any(re.fullmatch(pattern, name) for name in there):
            what = pattern.split("|")[-1].split("(")[0].removesuffix(":.*")
            yield CHECK.problem(
                Where(report.file, pointer="/checks"), f"the result is pass, and the check {what} is not among its checks", MEND
            )
    needed = [row for row in requests if row.get("required") is not False]
    for row in [row for row in needed if not rows_of(row) & (there - idle | {"streaming"} & there)][:20]:
        said = "is not required in it" if rows_of(row) & there else "is not among its checks"
        message = f"the result is pass, and the request {row['name'][:80]} of the suite {said}"
        yield CHECK.problem(Where(report.file, pointer="/checks"), message, MEND)


def always(report: ValidationReport, release: Release) -> tuple[str, ...]:
    if report.file == FUNCTIONAL:
        return ("start",)
    promised = strings(as_mapping(release.spec.get("runtime")).get("compute_capabilities"))
    return (*ALWAYS, "promise") if promised and report.file == REPORT else ALWAYS


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
