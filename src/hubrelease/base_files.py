"""The files that the base model has, as provenance lists them, and which of them the release neither has nor says it omits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hubrelease import glob_paths
from hubrelease.dependencies import BASE, dependencies
from hubrelease.patterns import Budget, Matcher, PatternTooCostly

if TYPE_CHECKING:
    from hubrelease.release import Release

MAX_PATTERNS = 1000


def base_files(release: Release) -> frozenset[str]:
    """Paths of the files of the side files' source; empty where provenance lists none."""
    side = as_object(release.spec.get("side_files"))
    weights = as_object(release.spec.get("weights"))
    name = side.get("source") or weights.get("source") or BASE
    found = next((d for d in dependencies(release) if d.name == name), None)
    files = found.annotations.get("files") if found else None
    return frozenset(f for f in files if isinstance(f, str)) if isinstance(files, list) else frozenset()


def lost_files(release: Release) -> frozenset[str]:
    """Files of the base that the release lacks without saying so under side_files.omit. A partial download lacks nothing."""
    absent = base_files(release) - release.files - release.missing
    for matcher in omissions(release):
        if not absent:
            break
        try:
            absent -= set(matcher.select(absent))
        except PatternTooCostly:
            return frozenset()  # what the publisher omits can't be told
    return absent


def omissions(release: Release) -> Iterator[Matcher]:
    rows = as_object(release.spec.get("side_files")).get("omit")
    budget = Budget()
    for row in (rows if isinstance(rows, list) else [])[:MAX_PATTERNS]:
        if isinstance(row, dict) and isinstance(row.get("path"), str) and len(row["path"]) <= 1024:
            yield Matcher(glob_paths.compiled(row["path"]).pattern, "fullmatch", budget)


def as_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
