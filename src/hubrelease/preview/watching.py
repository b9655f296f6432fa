"""Whether anything in a folder has changed: names, sizes and times of its files, looked at again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

PERIOD_S = 0.3
SETTLED_S = 2.0  # a file that is written for longer is shown half written
MAX_DEPTH, MAX_FILES = 4, 4000  # of a larger folder the rest is not watched

Signature = dict[str, tuple[int, int, int]]


def signature(root: Path) -> Signature:
    """{path: (time, size, inode)} of the files of a folder, the topmost first; hidden ones left out, links as such."""
    found: Signature = {}
    for path, info in files(root):
        found[path] = (info.st_mtime_ns, info.st_size, info.st_ino)
        if len(found) >= MAX_FILES:
            break
    return found


def files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    level = [str(root)]
    for _ in range(MAX_DEPTH):
        below: list[str] = []
        for folder in level:
            try:
                rows = sorted(os.scandir(folder), key=lambda row: row.name)
            except OSError:
                continue  # it went away, or may not be read: a change that the next look tells of
            for row in rows:
                if row.name.startswith("."):
                    continue
                if row.is_dir(follow_symlinks=False):
                    below.append(row.path)
                else:
                    try:
                        yield row.path, row.stat(follow_symlinks=False)
                    except OSError:
                        continue
        level = below


def settled(root: Path, before: Signature) -> Signature:
    """The signature after a change, once nothing changes any more, or SETTLED_S later."""
    until = time.monotonic() + SETTLED_S
    while time.monotonic() < until:
        time.sleep(PERIOD_S / 3)
        now = signature(root)
        if now == before:
            break
        before = now
    return before
