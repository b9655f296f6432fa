"""runtime/verify_release.py is none of the versions that hubrelease has shipped.

Why it matters: people run that file to be told that the release is good; an altered one can say so of anything.
Mend: Build or seal the release again, or compare the file with the one of the hubrelease version that provenance names.
Source: contract, section 3.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hubrelease.checks import Check
from hubrelease.digest import sha256
from hubrelease.errors import Problem
from hubrelease.release import Release

FILE = "runtime/verify_release.py"


@cache
def shipped() -> frozenset[str]:
    """SHA-256 of every version of the verifier that was released."""
    return frozenset(json.loads((Path(__file__).parent.parent / "shipped_verifiers.json").read_bytes()).values())


def run(release: Release) -> Iterator[Problem]:
    data = release.read(FILE)
    if FILE in release.files and (data is None or sha256(data) not in shipped()):  # None: none of ours is that large
        message = "is none of the verifiers that hubrelease has shipped"
        yield CHECK.problem(FILE, message, "don't run it; build or seal the release again", severity="warning")


CHECK = Check("HR226", "verifier-altered", "altered verifier", run)
