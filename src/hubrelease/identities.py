"""Which file on this disk is known to have which digest, so that no shard is read twice.

A file is known by device, inode, size, mtime and ctime, as git's index knows it. A record that no longer fits in every
point is not trusted: the file is hashed again. Records are kept for a build that is under way (journal) and for a
finished release (state, in the user's cache); losing either costs time, never correctness.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hubrelease import canonical
from hubrelease.digest import key_of
from hubrelease.verify_release import hash_fd


class Identity(NamedTuple):
    """What fstat says of a file; times in nanoseconds."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Known:
    """A file that was hashed: the key of its content (`sha256:…`, or of what made it), digest, place, identity."""

    key: str
    sha256: str
    path: Path
    identity: Identity

    def still(self, rehash: bool = False) -> bool:
        """True if the file at `path` still has the digest: by identity, else by hashing it again."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return False
        if identity_of(fd) == self.identity and not rehash:
            os.close(fd)
            return True
        size = self.identity.size
        if os.fstat(fd).st_size != size:
            os.close(fd)
            return False
        return bool(hash_fd(fd, size) == (self.sha256, size))


def identity_of(where: int | Path) -> Identity:
    info = os.stat(where, follow_symlinks=False) if isinstance(where, Path) else os.fstat(where)
    return Identity(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def content_key(sha256: str) -> str:
    return f"sha256:{sha256}"


class Journal:
    """Finished files of a build under way, one JSON line each, appended as they are finished.

    After a crash of the machine, rather than of the process, file contents may be lost although the names are there:
    the boot id on each line tells, and such files are hashed again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "journal.jsonl"
        self.boot = boot_id()

    def add(self, known: Known) -> None:
        line = canonical.compact({"boot": self.boot, **to_json(known, self.folder)}) + b"\n"
        fd = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(fd, line)  # one write of one line: whole or, after a kill, cut at the end of the file
        finally:
            os.close(fd)

    def read(self) -> Iterator[Known]:
        try:
            lines = self.file.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                value = json.loads(line)
                known = from_json(value, self.folder)
            except (ValueError, KeyError, TypeError):
                continue  # the line that a kill cut off
            if value["boot"] != self.boot:
                known = Known(known.key, known.sha256, known.path, known.identity._replace(ctime_ns=-1))
            yield known


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def to_json(known: Known, folder: Path) -> dict[str, Any]:
    return {
        "key": known.key,
        "sha256": known.sha256,
        "path": os.path.relpath(known.path, folder),
        "identity": list(known.identity),
    }


def from_json(value: dict[str, Any], folder: Path) -> Known:
    return Known(str(value["key"]), str(value["sha256"]), folder / value["path"], Identity(*(int(n) for n in value["identity"])))


def state_file(cache: Path, target: Path) -> Path:
    return cache / "releases" / (key_of(str(target)) + ".json")


def save_state(cache: Path, target: Path, rows: Iterable[Known]) -> None:
    """Remembers the files of a finished release. A cache that can't be written only makes the next build slower."""
    file = state_file(cache, target)
    data = canonical.compact([to_json(known, target) for known in rows])
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_suffix(f".{os.getpid()}")
        scratch.write_bytes(data)
        scratch.replace(file)
    except OSError:
        return


def read_state(cache: Path, target: Path) -> list[Known]:
    try:
        return [from_json(value, target) for value in json.loads(state_file(cache, target).read_bytes())]
    except (OSError, ValueError, KeyError, TypeError):
        return []


class Pool:
    """Files that may be taken instead of being made again, by the key of their content."""

    def __init__(self, known: Iterable[Known], rehash: bool = False) -> None:
        self.rehash = rehash
        self.by_key: dict[str, list[Known]] = {}
        for item in known:
            self.by_key.setdefault(item.key, []).append(item)

    def find(self, key: str) -> Known | None:
        """A file with that content, checked."""
        return next((item for item in self.by_key.get(key, ()) if item.still(self.rehash)), None)

    def likely(self, key: str) -> bool:
        return key in self.by_key
