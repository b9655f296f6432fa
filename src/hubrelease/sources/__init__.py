"""Where bytes come from: one file a kind (hf, git, folder, pypi, image), each with its constant KIND.

To add a kind: write its file, its key in schemas/release.schema.json and in spec.SOURCE_KINDS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hubrelease.errors import CheckFailed, problem
from hubrelease.family import members
from hubrelease.glob_paths import matches_any
from hubrelease.lock import LockedSource
from hubrelease.outside import Outside
from hubrelease.spec import Source
from hubrelease.verify_release import path_fault, printable


class Kind(NamedTuple):
    """What a kind of source can do.

    `resolve` asks the outside and gives the locked source. `open` gives one file's bytes, unchecked: fetch.py compares
    them with the lock. `on_disk` gives its path where the whole file lies on this disk as it is. `cached` is what to
    remove from a cache when its bytes are not the lock's. `uri` is in-toto's.
    """

    key: str
    resolve: Callable[[Source, Outside], LockedSource]
    open: Callable[[LockedSource, str, Outside], BinaryIO]
    on_disk: Callable[[LockedSource, str, Outside], Path | None]
    cached: Callable[[LockedSource, str, Outside], Path | None]
    uri: Callable[[LockedSource], str]


@cache
def kinds() -> dict[str, Kind]:
    import hubrelease.sources as package

    found = members(package, "KIND")
    return {kind.key: kind for kind in found if isinstance(kind, Kind)}


def select(source: Source, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """(wanted, others) of a source's paths, relative to its `path`; what lies outside of that is neither.

    CheckFailed (HR123) for a wanted path that no release can hold.
    """
    prefix = f"{source.path}/" if source.path else ""
    inside = sorted(path.removeprefix(prefix) for path in paths if path.startswith(prefix))
    wanted = [path for path in inside if matches_any(path, source.wanted)]
    faults = [(path, fault) for path in wanted if (fault := path_fault(path))]
    if faults:
        mend = "rename it upstream, or leave it out under files"
        raise CheckFailed([problem("path-invalid", f"{source.name}:{path}", f"the name {fault}", mend) for path, fault in faults])
    return wanted, [printable(path) for path in inside if path not in set(wanted)]
