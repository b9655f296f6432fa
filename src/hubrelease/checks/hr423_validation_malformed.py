"""benchmarks/release-validation.json can't be read as a validation report.

Why it matters: nothing says what was validated; a reader that guesses may read a pass.
Mend: Run `hubrelease validate` again, or build or seal the release again.
Source: contract, section 3.

A report of a newer schemaVersion is no fault: it was not read, and nothing was decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.manifest import REPORT
from hubrelease.release import Release
from hubrelease.validation_reports import OTHERS, RESULTS, SCHEMA_VERSION, ValidationReport

SHAPE = {"schemaVersion", "result", "checks"}  # other publishers have files of these names in other forms
MEND = "run `hubrelease validate` again, or seal the release again"


def run(release: Release) -> Iterator[Problem]:
    yield from newer(release)
    for path in (path for path in (REPORT, *OTHERS) if path in release.files):
        report = ValidationReport(path, release.json(path))
        if path == REPORT or report.is_own or report.body.keys() >= SHAPE:
            for pointer, message in faults(report):
                yield CHECK.problem(Where(path, pointer=pointer), message, MEND)


def newer(release: Release) -> Iterator[Problem]:
    """Every validation report of a later form."""
    for path in (REPORT, *OTHERS):
        report = ValidationReport(path, release.json(path) if path in release.files else None)
        if report.is_newer:
            message = f"is of schemaVersion {report.body['schemaVersion']}, and this version reads {SCHEMA_VERSION}: it was not read"
            yield replace(CHECK.problem(Where(path, pointer="/schemaVersion"), message, "use a newer hubrelease"), undecided=True)


def faults(report: ValidationReport) -> Iterator[tuple[str, str]]:
    if report.is_newer:
        return
    if not isinstance(report.document, dict):
        yield "", "is no JSON object"
        return
    version = report.body.get("schemaVersion")
    if type(version) is not int or version < 1:
        yield "/schemaVersion", f"is {said(report.body.get('schemaVersion'))}, not {SCHEMA_VERSION}"
    if report.body.get("result") not in RESULTS:
        yield "/result", f"is {said(report.body.get('result'))}, not one of {', '.join(RESULTS)}"
    digest = report.payload_digest
    if digest is None or not re.fullmatch(r"(sha256:)?[0-9a-fA-F]{64}", digest):
        yield "/subject/payloadDigest", f"is {said(digest)}, so the report is about no release in particular"
    yield from check_faults(report)


def check_faults(report: ValidationReport) -> Iterator[tuple[str, str]]:
    rows = report.body.get("checks")
    if rows is None and report.result == "not-run":
        return
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        yield "/checks", "is not a list of checks"
        return
    for number, row in enumerate(rows):
        forms = (("name", str), ("status", str), ("required", bool))
        bad = next((key for key, kind in forms if not isinstance(row.get(key), kind)), None)
        if bad:
            yield f"/checks/{number}/{bad}", f"is {said(row.get(bad))}, not what a check has there"
            return


def said(value: object) -> str:
    return "absent" if value is None else repr(value)[:60]


CHECK = Check("HR423", "validation-malformed", "unreadable validation report", run, waivable=False)
