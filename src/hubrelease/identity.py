"""Is this the release that was asked for? Name, version and digest as the reader expects them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hubrelease import verify_release
from hubrelease.errors import Problem, problem
from hubrelease.release import Release
from hubrelease.verify_release import PROVENANCE


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reader expects; None where nothing is. `from_place` holds what hf://REPO@REV says, a mismatch of which only warns."""

    name: str | None = None
    version: str | None = None
    digest: str | None = None
    place_name: str | None = None
    place_version: str | None = None


def identity_problems(release: Release, expected: Expected) -> Iterator[Problem]:
    """A Problem (HR701) for each expectation that the release does not meet."""
    found = {"name": release.spec.get("name"), "version": release.spec.get("version"),
             "digest": verify_release.release_digest(release.result.provenance.subjects)}  # fmt: skip
    for key, want in (("name", expected.name), ("version", expected.version), ("digest", expected.digest)):
        if want is not None and found[key] != want:
            yield mismatch(
                f"the release's {key} is {found[key]!r}, {want!r} was expected", "fetch the right release, or correct --expect-" + key
            )
    for key, want in (("name", expected.place_name), ("version", expected.place_version)):
        if want is not None and found[key] is not None and found[key] != want:
            message = f"the release's {key} is {found[key]!r}, it lies under {want!r}"
            yield mismatch(message, f"ask its publisher; --expect-{key} makes this an error", "warning")


def mismatch(message: str, mend: str, severity: str = "error") -> Problem:
    return problem("identity-mismatch", PROVENANCE, message, mend, severity=severity)
