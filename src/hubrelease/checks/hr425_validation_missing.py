"""release.yaml asks for a validation, and the release has no report of one, not even of none.

Why it matters: nothing says whether these bytes were ever run; a report that somebody took out is not told from one that never was.
Mend: Seal the release again, which writes a report that says not-run, or run `hubrelease validate`.
Source: contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.manifest import REPORT
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    asked = release.spec.get("validation")
    if isinstance(asked, dict) and REPORT not in release.files and REPORT not in release.missing:
        message = "is not part of the release, and its release.yaml asks for a validation"
        yield CHECK.problem(REPORT, message, "seal the release again, or run `hubrelease validate`")


CHECK = Check("HR425", "validation-missing", "no validation report", run, waivable=False)
