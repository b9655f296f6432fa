"""Spec + outside → Lock. The only place where a branch becomes a commit.

A source that the lock already resolves for the same request is kept as it is, whatever upstream did: only `update`
moves it. The runtime's packages are resolved by pip, with all they need, to versions and sha256.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hubrelease import lock as locks
from hubrelease.digest import key_of
from hubrelease.errors import OutsideError, SpecError, Where, problem
from hubrelease.lock import Lock, LockedPackage, LockedPackages, LockedSource
from hubrelease.outside import Outside
from hubrelease.sources import kinds
from hubrelease.spec import Source, Spec

PACKAGES = "packages"  # the name under which `--update` knows the runtime's packages


@dataclass(frozen=True, slots=True)
class Change:
    """What pinning did to one source: its name, the old and the new revision (None: was not, or is no longer, there)."""

    name: str
    before: str | None
    after: str | None


def pin(spec: Spec, lock: Lock | None, outside: Outside, update: Sequence[str] = ()) -> Lock:
    """The lock that fits `spec`, as little different from `lock` as possible.

    Raises SpecError for a name in `update` that is no source, OutsideError and CheckFailed as the sources do.
    """
    known = [s.name for s in spec.sources] + ([PACKAGES] if locks.packages_request(spec) else [])
    if unknown := [name for name in update if name not in known]:
        raise SpecError(
            [problem("source-unknown", Where("--update"), f'there is no source "{name}"', f"known: {', '.join(known)}") for name in unknown]
        )
    sources = tuple(pin_source(source, lock, outside, update) for source in spec.sources)
    return Lock(sources, pin_packages(spec, lock, outside, PACKAGES in update))


def pin_source(source: Source, lock: Lock | None, outside: Outside, update: Sequence[str]) -> LockedSource:
    held = lock.source(source.name) if lock else None
    if held and source.name not in update and locks.same_files(source, held):
        return held if locks.same_license(source, held) else relicensed(source, held, outside)
    outside.progress.note(f"pinning {source.name} ({source.locator})")
    found = kinds()[source.kind].resolve(source, outside)
    if source.kind != "image" and not found.files:
        message = f'"{source.name}" has no file that fits {", ".join(source.wanted)}' + (f" under {source.path}" if source.path else "")
        raise OutsideError(
            problem(
                "source-unreachable",
                Where("release.yaml", None, f"/sources/{source.name}"),
                message,
                "correct path or files",
            )
        )
    return found


def relicensed(source: Source, held: LockedSource, outside: Outside) -> LockedSource:
    """`held` with the licence that is stated now, or, where none is stated any more, the one of its own card."""
    stated = source.license or (outside.hub.resolve(source.locator, held.revision).license if source.kind == "hf" else None)
    return replace(held, request=locks.request_of(source), license=stated)


def changes(before: Lock | None, after: Lock) -> Iterator[Change]:
    """Everything in which the locks differ; before == after where the commit stayed and what is taken of it did not."""
    old, new = revisions(before), revisions(after)
    for name in sorted(old | new):
        if old.get(name) != new.get(name):
            yield Change(name, old[name][0] if name in old else None, new[name][0] if name in new else None)


def revisions(lock: Lock | None) -> dict[str, tuple[str, object]]:
    """(revision, all that is locked) of each source, and of the runtime's packages."""
    found: dict[str, tuple[str, object]] = {s.name: (s.revision, s) for s in lock.sources} if lock else {}
    if lock and lock.packages:
        found[PACKAGES] = (key_of([[p.name, p.version, list(p.sha256)] for p in lock.packages.packages]), lock.packages)
    return found


def outdated(spec: Spec, lock: Lock, outside: Outside) -> Iterator[Change]:
    """Sources whose branch, tag or folder is not, or no longer, what the lock holds; images and wheels can't move."""
    for source in spec.sources:
        held = lock.source(source.name)
        if source.kind in ("image", "pypi"):
            continue
        now, before = current(source, outside), held.revision if held else None
        if now != before:
            yield Change(source.name, before, now)


def current(source: Source, outside: Outside) -> str:
    if source.kind == "hf":
        return outside.hub.resolve(source.locator, source.revision or "main").commit
    if source.kind == "git":
        from hubrelease.sources.git import commit_of

        return commit_of(source.locator, source.revision or "HEAD")
    return kinds()[source.kind].resolve(source, outside).revision


# ------------------------------------------------------------------------------------------------ the runtime's packages


def pin_packages(spec: Spec, lock: Lock | None, outside: Outside, update: bool) -> LockedPackages | None:
    asked = locks.packages_request(spec)
    if asked is None:
        return None
    if lock and lock.packages and lock.packages.request == asked and not update:
        return lock.packages
    where = spec.where("/runtime/packages")
    if outside.offline:
        raise OutsideError(
            problem(
                "offline",
                where,
                "the packages can't be resolved with the network switched off",
                "run once without --offline",
            )
        )
    outside.progress.note("resolving the runtime's packages")
    report = pip_report(asked, where)
    return LockedPackages(asked, tuple(sorted((package_of(item, where) for item in report["install"]), key=lambda p: p.name)))


def pip_report(asked: dict[str, Any], where: Where) -> dict[str, Any]:
    """pip's own installation report of a dry run for the image's Python and platform; nothing is installed."""
    platforms = [option for tag in platform_tags(asked["platform"]) for option in ("--platform", tag)]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "--disable-pip-version-check",
        "--report",
        "-",
        "--only-binary=:all:",
        "--implementation",
        "cp",
        "--python-version",
        asked["python"],
        *platforms,
        *asked["packages"],
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines() or ["pip failed"]
        message, mend = lines[-1].removeprefix("ERROR: "), "check names, versions, python and platform"
        raise OutsideError(problem("packages-unpinned", where, message, mend))
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def package_of(item: dict[str, Any], where: Where) -> LockedPackage:
    name, version = item["metadata"]["name"], item["metadata"]["version"]
    download = item["download_info"]
    sha256 = download.get("archive_info", {}).get("hashes", {}).get("sha256")
    if not download["url"].startswith("https://") or not sha256:
        message = f"{name}=={version} comes from {download['url'].split(':')[0]}:, not from an index that everybody has"
        mend = "resolve without pip's find-links and file: indexes (PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL, pip.conf)"
        raise OutsideError(problem("packages-unpinned", where, message, mend))
    return LockedPackage(re.sub(r"[-_.]+", "-", name).lower(), version, (sha256,))


LEGACY_TAGS = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


def platform_tags(platform: str) -> list[str]:
    """Every tag that runs where `platform` runs: pip itself matches just the one that it is given."""
    match = re.fullmatch(r"manylinux_2_(\d+)_(\w+)", platform)
    if not match:
        return [platform]
    tags: list[str] = []
    for minor in range(int(match[1]), 4, -1):
        tags += [
            f"manylinux_2_{minor}_{match[2]}",
            *([f"{LEGACY_TAGS[minor]}_{match[2]}"] if minor in LEGACY_TAGS else []),
        ]
    return tags
