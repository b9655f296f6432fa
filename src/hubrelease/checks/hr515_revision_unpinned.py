"""Provenance records a source without the commit that it was taken at.

Why it matters: a branch or tag moves; everyone who follows it gets other bytes, and with remote code other code.
Mend: Pin the source (`hubrelease pin`) and build again; by hand, write the commit's 40 hex digits under digest.gitCommit.
Source: noonghunna/club-3090 issue 319; T0mSIlver/localvoxtral PR 140; docling-project/docling issue 4224.
HR102 says the same of release.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.dependencies import Dependency, dependencies
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.verify_release import PROVENANCE

COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # git's SHA-1, or its SHA-256 repositories
KEYS = ("gitCommit", "sha1", "gitTree")
REPOSITORIES = ("hf://", "git+", "https://huggingface.co/", "https://hf.co/", "https://github.com/")


def run(release: Release) -> Iterator[Problem]:
    for dependency in dependencies(release):
        if dependency.uri.startswith(REPOSITORIES) and not is_pinned(dependency):
            where, message = Where(PROVENANCE, None, f"{dependency.pointer}/digest"), f"{said(dependency)}, not a commit of 40 hex digits"
            yield CHECK.problem(where, message, "pin it with `hubrelease pin` and build again")


def is_pinned(dependency: Dependency) -> bool:
    commits = [dependency.digest.get(key) for key in KEYS]
    return any(isinstance(commit, str) and COMMIT.fullmatch(commit) for commit in commits)


def said(dependency: Dependency) -> str:
    given = next((dependency.digest[key] for key in KEYS if key in dependency.digest), None)
    at = f'"{str(given)[:60]}"' if given is not None else "nothing"
    return f"{dependency.name[:40]} ({dependency.uri[:80]}) is recorded at {at}"


CHECK = Check("HR515", "revision-unpinned", "source without a commit", run)
