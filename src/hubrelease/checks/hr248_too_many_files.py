"""A folder has more than 10,000 entries, or the release more than 100,000 files.

The number of files in all is a recommendation, so a warning.

Why it matters: the Hub refuses a commit with more than 10,000 entries in a folder; beyond 100,000 files repositories get slow.
Mend: Put the files into several folders, or pack them.
Source: huggingface/datasets issue 7956; huggingface/hub-docs docs/hub/storage-limits.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.telling import few
from hubrelease.verify_release import LOCAL_DIR

IN_FOLDER, IN_ALL = 10_000, 100_000


def run(release: Release) -> Iterator[Problem]:
    paths = [path for path in release.result.entries if not LOCAL_DIR.fullmatch(path)] if len(release.result.entries) > IN_FOLDER else []
    entries: Counter[str] = Counter()
    folders: set[str] = set()
    for path in paths:
        count_entries(path, entries, folders)
    crowded = sorted(folder for folder, count in entries.items() if count > IN_FOLDER)
    yield from few(folder_problem(folder, entries[folder]) for folder in crowded)
    if len(paths) > IN_ALL:
        message = f"has {len(paths):,} files; the Hub recommends fewer than {IN_ALL:,}"
        yield CHECK.problem(".", message, "pack what belongs together", severity="warning")


def count_entries(path: str, entries: Counter[str], folders: set[str]) -> None:
    """Counts a file in its folder, and each folder once in the one above it."""
    while path:
        above = path.rpartition("/")[0]
        entries[above] += 1
        if not above or above in folders:
            return
        folders.add(above)
        path = above


def folder_problem(folder: str, count: int) -> Problem:
    message = f"has {count:,} entries; the Hub refuses more than {IN_FOLDER:,} in a folder"
    return CHECK.problem(folder or ".", message, "put the files into several folders, or pack them")


CHECK = Check("HR248", "too-many-files", "too many files", run)
