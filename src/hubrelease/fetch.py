"""Lock + outside → Sources: the locked files as values that can be read; no byte gets past that is not the lock's.

A file is fetched when it is first opened. `SourceFile.read` checks a small file before it is used; a large one is
checked while it is copied (tree.py), in the same single read.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hubrelease.digest import FileDigest, sha256
from hubrelease.errors import CheckFailed, OutsideError, ReleaseError, problem
from hubrelease.lock import Lock, LockedSource
from hubrelease.outside import Outside
from hubrelease.sources import kinds


@dataclass(frozen=True)
class SourceFile:
    """One locked file: its digest, and how to get at its bytes."""

    source: LockedSource
    digest: FileDigest
    outside: Outside

    @property
    def path(self) -> str:
        return self.digest.path

    @property
    def place(self) -> str:
        return f"{self.source.name}:{self.digest.path}"

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The unchecked bytes, as a stream. OutsideError if they can't be had."""
        try:
            stream = kinds()[self.source.kind].open(self.source, self.digest.path, self.outside)
        except OSError as error:
            raise OutsideError(
                problem("source-unreachable", self.place, f"could not be read: {error.strerror or error}", "run again")
            ) from None
        try:
            with stream:
                yield stream
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
            raise OutsideError(problem("source-changed", self.place, f"the archive is damaged: {error}", self.fetch_again())) from None

    def on_disk(self) -> Path | None:
        """The file's path if it lies on this disk as it is: for reflinks and hard links."""
        return kinds()[self.source.kind].on_disk(self.source, self.digest.path, self.outside)

    def origin(self) -> Path | None:
        """The path of a file that its owner may change at any time: one in a folder source. Downloads stay what they are."""
        return self.on_disk() if self.source.kind == "folder" else None

    def read(self) -> bytes:
        """The whole file, checked against the lock. For small files only."""
        with self.open() as stream:
            data = stream.read(self.digest.size + 1)
        if len(data) != self.digest.size or sha256(data) != self.digest.sha256:
            raise self.changed(sha256(data), len(data))
        return data

    def changed(self, found_sha256: str, found_size: int) -> ReleaseError:
        """The error for bytes that are not the lock's."""
        message = f"has SHA-256 {found_sha256} and {found_size} bytes or more, the lock says {self.digest.sha256} and {self.digest.size}"
        if not self.digest.sha256:
            message = f"had {self.digest.size} bytes and has {found_size} or more: it changed while it was read"
            return CheckFailed(problem("source-changed", self.place, message, "run again when nothing writes to it"))
        if self.source.kind == "folder":
            return CheckFailed(
                problem(
                    "source-changed",
                    self.place,
                    message,
                    f"restore it, or run `hubrelease pin --update {self.source.name}`",
                )
            )
        return OutsideError(problem("source-changed", self.place, message, f"the download is damaged: {self.fetch_again()}"))

    def fetch_again(self) -> str:
        path = kinds()[self.source.kind].cached(self.source, self.path, self.outside)
        return f"remove {path} and run again"


@dataclass(frozen=True)
class Sources:
    """Every file of a lock."""

    lock: Lock
    outside: Outside

    def files(self, name: str) -> tuple[SourceFile, ...]:
        """The wanted files of a source, sorted by path."""
        locked = self.locked(name)
        return tuple(SourceFile(locked, digest, self.outside) for digest in sorted(locked.files))

    def file(self, name: str, path: str) -> SourceFile:
        """One file of a source. CheckFailed (HR117) if the lock has no such file."""
        locked = self.locked(name)
        digest = locked.file(path)
        if digest is None:
            raise CheckFailed(
                problem(
                    "source-unreachable",
                    f"{name}:{path}",
                    "is not among the files of this source",
                    "correct the path, or widen files",
                )
            )
        return SourceFile(locked, digest, self.outside)

    def locked(self, name: str) -> LockedSource:
        found = self.lock.source(name)
        assert found is not None, f"{name} is not in the lock"  # build.py refuses a stale lock before it comes here
        return found
