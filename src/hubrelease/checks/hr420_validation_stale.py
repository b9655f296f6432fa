"""A validation report was made for other bytes than those of the release.

Why it matters: a pass (or figures) of earlier weights would be taken for one of these.
Mend: Run `hubrelease validate` again, or take the report out.
Source: paiml/aprender issue 3712; noonghunna/club-3090 issue 319.

The digest of the report is held against the payload digest of what provenance lists, and a payload file that is not the one
listed makes it stale too. A report that lies in the payload itself names the digest without such files. Every receipt that
names a payload counts. A report that says not-run claims nothing: a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease import verify_release
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping
from hubrelease.release import Release
from hubrelease.telling import named
from hubrelease.validation_reports import ValidationReport, reports, validated_digest, wanted_digest

MEND = "run `hubrelease validate` again, or take the report out"


def run(release: Release) -> Iterator[Problem]:
    subjects = release.result.provenance.subjects
    for report in reports(release) if subjects else ():
        said, wanted = report.payload_digest, wanted_digest(report.file, subjects)
        if said is not None and said.removeprefix("sha256:").lower() != wanted:
            severity = "warning" if report.result == "not-run" else "error"
            message = f"is about the payload {said[:80]}{of_another(report, release)}, and the release's is {wanted}"
            yield CHECK.problem(Where(report.file, pointer="/subject/payloadDigest"), message, MEND, severity)
        elif said is not None and report.validated_digest not in (None, validated_digest(subjects)):
            message = f"names the release's payload, and {str(report.validated_digest)[:80]} as what was validated of it"
            yield CHECK.problem(Where(report.file, pointer="/subject/validatedDigest"), message, MEND)
        elif said is not None and report.result != "not-run" and (changed := changed_files(release)):
            message = f"is about bytes that are no longer here: {named(changed)} changed since"
            yield CHECK.problem(Where(report.file, pointer="/subject/payloadDigest"), message, MEND)
    yield from swapped(release)


def of_another(report: ValidationReport, release: Release) -> str:
    """The name of the release that a foreign report is about."""
    mine = verify_release.release_name(release.document)
    return f" of {report.name[:80]}" if report.name is not None and report.name != mine else ""


def changed_files(release: Release) -> list[str]:
    """Files of the payload that are not the ones listed."""
    found = {f.file for f in release.result.findings if f.kind in ("hash-mismatch", "file-changed") and verify_release.in_payload(f.file)}
    return sorted(found)


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
