"""SHA-256 of streams, and in-toto's resource descriptor for one file. 64 lower-case hex digits everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from hubrelease import canonical


@dataclass(frozen=True, slots=True, order=True)
class FileDigest:
    """A file by its path (relative, POSIX), SHA-256 and size in bytes."""

    path: str
    sha256: str
    size: int


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tree_digest(files: Iterable[FileDigest]) -> str:
    """Our tree digest (`dirHash`): SHA-256 over the lines `<sha256>  <size>  <path>` in the order of the paths' bytes."""
    rows = sorted(files, key=lambda f: f.path.encode())
    return sha256("".join(f"{f.sha256}  {f.size}  {f.path}\n" for f in rows).encode())


def key_of(*parts: object) -> str:
    """The content key of something made from `parts` (JSON values): equal parts, equal key."""
    return sha256(canonical.compact(list(parts)))
