"""One package is pinned to two versions in what builds the runtime.

Why it matters: pip only warns and the later one wins: the image builds, and an import fails when it is run.
Mend: Pin each package once, or to the same version everywhere.
Source: attevon-llc/OpenTranscribe issue 500.

Compared are pins that meet in one image: the Dockerfile's own, those of the requirements files that it names (all at the
root or in runtime/, where it names none), and the pyproject.toml beside it. Pins under different markers exclude each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.dockerfiles import Dockerfile, dockerfiles
from hubrelease.errors import Problem, Where
from hubrelease.packages import Requirement, requirements
from hubrelease.release import Release

MEND = "pin each package once, or to the same version everywhere"


def run(release: Release) -> Iterator[Problem]:
    found = [r for r in requirements(release) if r.exact]
    told: set[tuple[str, int, str]] = set()
    for group in [*(together(d, found) for d in dockerfiles(release)), *alone(found)]:
        for first, second in conflicts(group):
            place = (second.file, second.line, second.name)
            if place not in told:
                told.add(place)
                message = f"pins {second.name} to {second.exact}, and {first.file}:{first.line} to {first.exact}"
                yield CHECK.problem(Where(second.file, second.line), message, MEND)


def together(dockerfile: Dockerfile, found: list[Requirement]) -> list[Requirement]:
    """What the image of a Dockerfile installs: files first, for its own lines usually come later."""
    text = "\n".join(row.text for row in dockerfile.instructions)
    named = [
        r for r in found if r.file != dockerfile.file and re.search(rf"(?<![\w.-]){re.escape(r.file.rpartition('/')[2])}(?![\w.-])", text)
    ]
    copied = re.search(r"(?m)^\s*(COPY|ADD)?\s*\.\s+", text) is not None
    files = named or [r for r in found if copied and r.file.count("/") == 0 and r.file.endswith((".txt", ".lock"))]
    return [*files, *(r for r in found if r.file == dockerfile.file)]


def alone(found: list[Requirement]) -> Iterator[list[Requirement]]:
    """Each requirements file by itself, and a pyproject.toml with the requirements beside it."""
    for file in sorted({r.file for r in found}):
        if file.endswith("pyproject.toml"):
            folder = file.removesuffix("pyproject.toml")
            yield [r for r in found if r.file in (file, f"{folder}requirements.txt", f"{folder}requirements.lock")]
        elif not file.rpartition("/")[2].lower().endswith("dockerfile"):
            yield [r for r in found if r.file == file]


def conflicts(group: list[Requirement]) -> Iterator[tuple[Requirement, Requirement]]:
    seen: dict[str, Requirement] = {}
    for item in group:
        first = seen.setdefault(item.name, item)
        if not same(first.exact or "", item.exact or "") and first.marker == item.marker:
            yield first, item


def same(one: str, other: str) -> bool:
    """Equal but for trailing zeros; a local version (+cu128) only where both have one."""
    (public, _, local), (other_public, _, other_local) = one.partition("+"), other.partition("+")
    return plain(public) == plain(other_public) and (local == other_local or not local or not other_local)


def plain(version: str) -> str:
    return re.sub(r"(\.0)+$", "", version.lower().removeprefix("v"))


CHECK = Check("HR411", "pins-conflict", "two pins for one package", run)
