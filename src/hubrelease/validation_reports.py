"""Validation reports: benchmarks/release-validation.json and every other receipt that says for which payload it holds.

Readers take contract.md section 2's few required fields and ignore the rest. A report of a newer schemaVersion is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hubrelease import verify_release
from hubrelease.manifest import REPORT
from hubrelease.models import as_mapping, strings

if TYPE_CHECKING:
    from hubrelease.release import Release

SCHEMA_VERSION = 1
SUITE = "runtime/suite/suite.json"
FUNCTIONAL = "benchmarks/validation.json"
RESULTS = ("pass", "fail", "not-run")
OTHERS = ("benchmarks/validation.json", "conversion_validation.json", "runtime_validation.json", "dflash_compatibility.json")
PASSED = frozenset(("pass", "passed"))
FAILED = frozenset(("fail", "failed", "error"))


@dataclass(frozen=True)
class Ran:
    """A check of a report. `status` is lower case; one without `required` counts as required."""

    name: str
    status: str
    required: bool
    row: Mapping[str, Any]
    pointer: str


class ValidationReport:
    def __init__(self, file: str, document: Any) -> None:
        self.file, self.document = file, document

    @cached_property
    def body(self) -> Mapping[str, Any]:
        return as_mapping(self.document)

    @property
    def is_newer(self) -> bool:
        version = self.body.get("schemaVersion")
        return type(version) is int and version > SCHEMA_VERSION

    @property
    def result(self) -> str:
        value = self.body.get("result")
        return value.lower() if isinstance(value, str) else ""

    @property
    def payload_digest(self) -> str | None:
        value = as_mapping(self.body.get("subject")).get("payloadDigest")
        return value if isinstance(value, str) else None

    @property
    def validated_digest(self) -> str | None:
        value = as_mapping(self.body.get("subject")).get("validatedDigest")
        return value if isinstance(value, str) else None

    @property
    def is_own(self) -> bool:
        """`validate` wrote it, so that it holds what `validate` writes. Of other tools' only the contract's few fields are known."""
        return self.validated_digest is not None or isinstance(as_mapping(self.body.get("environment")).get("hubrelease"), str)

    @property
    def name(self) -> str | None:
        """The release that it says it is about."""
        value = as_mapping(self.body.get("subject")).get("name")
        return value if isinstance(value, str) else None

    @cached_property
    def checks(self) -> tuple[Ran, ...]:
        rows = self.body.get("checks")
        found = enumerate(rows if isinstance(rows, list) else ())
        return tuple(ran(row, f"/checks/{number}") for number, row in found if isinstance(row, dict))

    @cached_property
    def capabilities(self) -> tuple[str, ...]:
        """Compute capabilities of the GPUs that it ran on."""
        where = as_mapping(self.body.get("environment"))
        rows = where.get("gpus")
        each = [as_mapping(row).get("computeCapability") for row in (rows if isinstance(rows, list) else [])]
        return strings([*each, where.get("computeCapability")])


def validated_digest(subjects: Iterable[verify_release.Subject]) -> str:
    """The payload digest without the validation files that lie in the payload: adding one leaves what was validated as it was."""
    found: str = verify_release.payload_digest([s for s in subjects if s.name not in OTHERS])
    return found


def wanted_digest(file: str, subjects: Iterable[verify_release.Subject]) -> str:
    """The digest that a report in `file` has to name. One that lies in the payload can't hold a digest over itself."""
    if file in OTHERS and verify_release.in_payload(file):
        return validated_digest(subjects)
    found: str = verify_release.payload_digest(subjects)
    return found


def suite_of(release: Release) -> tuple[list[Mapping[str, Any]], set[str]]:
    """(requests of the release's own suite, names of the checks that it does not require)."""
    suite = as_mapping(release.json(SUITE)) if SUITE in release.files else {}
    rows, spared = (suite.get(key) for key in ("requests", "notRequired"))
    requests = [row for row in map(as_mapping, rows if isinstance(rows, list) else ()) if isinstance(row.get("name"), str)]
    named = {as_mapping(row).get("check") for row in (spared if isinstance(spared, list) else ())}
    named |= {check for row in requests if row.get("required") is False for check in rows_of(row)}
    return requests, {name for name in named if isinstance(name, str)}


def rows_of(request: Mapping[str, Any]) -> set[str]:
    """Names of the checks that a request becomes; `streaming` stands for all of them where the engine has no stream."""
    name = request["name"]
    return {f"streaming:{name}", "streaming"} if request.get("kind") == "streaming" else {f"request:{name}"}


def is_spared(check: str, spared: set[str]) -> bool:
    """The suite does not require it, by its name or by what stands before the colon."""
    return check in spared or check.split(":", maxsplit=1)[0] in spared


def ran(row: Mapping[str, Any], pointer: str) -> Ran:
    name, status, required = row.get("name"), row.get("status"), row.get("required")
    return Ran(str(name)[:80], status.lower() if isinstance(status, str) else "", required is not False, row, pointer)


def reports(release: Release) -> Iterator[ValidationReport]:
    """The main report first, then others that name a payload."""
    for path in (REPORT, *OTHERS):
        if path in release.files:
            yield ValidationReport(path, release.json(path))
    for path in sorted(release.files):
        if path.startswith("benchmarks/") and path.endswith(".json") and path not in (REPORT, *OTHERS):
            found = ValidationReport(path, release.json(path))
            if found.payload_digest is not None:
                yield found


def main_report(release: Release) -> ValidationReport | None:
    """release-validation.json, where it can be read and is of a form that is known."""
    found = ValidationReport(REPORT, release.json(REPORT)) if REPORT in release.files else None
    return found if found is not None and found.body and not found.is_newer else None
