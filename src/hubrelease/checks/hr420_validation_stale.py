"""A validation report was made for other bytes than those of the release.

Why it matters: a pass (or figures) of earlier weights would be taken for one of these.
Mend: Run `hubrelease validate` again, or take the report out.
Source: paiml/aprender issue 3712; noonghunna/club-3090 issue 319.

The digest of the report is held against the payload digest of what provenance lists; whether the files are what is listed
is another check. Every receipt that names a payload counts. A report that says not-run claims nothing: a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease import verify_release
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping
from hubrelease.release import Release
from hubrelease.validation_reports import reports

MEND = "run `hubrelease validate` again, or take the report out"


def run(release: Release) -> Iterator[Problem]:
    subjects = release.result.provenance.subjects
    wanted = verify_release.payload_digest(subjects)
    for report in reports(release) if subjects else ():
        said = report.payload_digest
        if said is not None and said.removeprefix("sha256:").lower() != wanted:
            severity = "warning" if report.result == "not-run" else "error"
            message = f"is about the payload {said[:80]}, and the release's is {wanted}"
            yield CHECK.problem(Where(report.file, pointer="/subject/payloadDigest"), message, MEND, severity)
    yield from swapped(release)


def swapped(release: Release) -> Iterator[Problem]:
    """Reports that provenance names as byproducts with another hash than it lists for the file."""
    listed = {s.name: s.sha256 for s in release.result.provenance.subjects}
    rows = as_mapping(as_mapping(release.document.get("predicate")).get("runDetails")).get("byproducts")
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        name, said = as_mapping(row).get("name"), as_mapping(as_mapping(row).get("digest")).get("sha256")
        if isinstance(name, str) and isinstance(said, str) and name in listed and listed[name] != said:
            where = Where(name)
            message = f"is listed with {listed[name]}, and provenance's byproduct {number} of that name is {said[:80]}"
            yield CHECK.problem(where, message, "seal the release again")


CHECK = Check("HR420", "validation-stale", "validation of other bytes", run, waivable=False)
