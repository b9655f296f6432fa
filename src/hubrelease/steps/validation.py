"""Validation reports: kept from the release that is replaced while they are about these very files, else the main one is not-run.

`build` runs nothing on a device, so that its bytes do not depend on the machine; `hubrelease validate` does.
"""

from __future__ import annotations

from typing import Any

from hubrelease import canonical
from hubrelease.manifest import REPORT, payload_digest
from hubrelease.steps import Build
from hubrelease.validation_reports import OTHERS
from hubrelease.verify_release import strict_json

NOT_RUN = "no validation was run on these files"


def report_for(digest: str, before: bytes | None) -> bytes:
    """The report to ship with a payload of that digest."""
    if before is not None and subject_of(before) == digest:
        return before
    return canonical.dumps({"schemaVersion": 1, "result": "not-run", "reason": NOT_RUN, "subject": {"payloadDigest": digest}, "checks": []})


def subject_of(report: bytes, key: str = "payloadDigest") -> str | None:
    try:
        value: Any = strict_json(report)
        return str(value["subject"][key])
    except (ValueError, KeyError, TypeError):
        return None


class Validation:
    name = "validation"

    def skip(self, build: Build) -> str | None:
        return None

    def run(self, build: Build) -> None:
        digest = payload_digest(build.tree.list())  # no report lies in the payload yet
        for path, data in sorted(build.before.items()):
            if path in OTHERS and path not in build.tree.entries and digest in (subject_of(data), subject_of(data, "validatedDigest")):
                build.tree.put(path, data)
        build.tree.put(REPORT, report_for(payload_digest(build.tree.list()), build.before.get(REPORT)))
