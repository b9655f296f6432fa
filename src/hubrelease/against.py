"""verify --against: another build of the same release. Same content in other bytes is a warning, other content an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hubrelease import verify_release
from hubrelease.compare import Difference, differences
from hubrelease.errors import OutsideError, Problem, problem
from hubrelease.manifest import REPORT
from hubrelease.release import Release

KIND = "not-reproducible"


def against_problems(release: Release, folder: Path) -> Iterator[Problem]:
    """A Problem (HR290) for each file that the other build has otherwise."""
    other = opened(folder)
    for found in differences(release, other):
        if found.file == REPORT and found.detail.startswith("/subject/payloadDigest"):
            continue  # follows from the payload, whose differences are named
        mend = (
            "write metadata and JSON with sorted keys"
            if found.same_meaning
            else "build both from the same spec and lock, with the same versions"
        )
        yield problem(KIND, found.file, sentence(found), mend, severity="warning" if found.same_meaning else "error")


def sentence(found: Difference) -> str:
    where = {"added": "only in the other build", "removed": "only in this build"}.get(found.change, "differs from the other build")
    return f"{where}: {found.detail}"


def opened(folder: Path) -> Release:
    """A release folder for comparison: its files are listed, not hashed against its provenance."""
    if not folder.is_dir():
        raise OutsideError(problem("source-unreachable", str(folder), "is no folder", "name a release folder"))
    listing = verify_release.Folder(folder)
    entries, faults = listing.scan()
    provenance = verify_release.load_provenance(listing, entries)
    return Release(folder, verify_release.Result(provenance, entries, faults, [], 0, 0))
