"""A release here against what the Hub lists: every file by sha256 (LFS, Xet) or git blob id, without download."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hubrelease import verify_release
from hubrelease.errors import OutsideError, Problem, problem
from hubrelease.hub import RemoteFile
from hubrelease.release import Release

SERVER_FILES = (".gitattributes",)  # the Hub adds it


def read_listing(file: Path) -> list[RemoteFile]:
    """The entries of a stored `GET …/tree/{revision}?recursive=true` answer. OutsideError if it is none."""
    try:
        rows = verify_release.strict_json(file.read_bytes())
        return [entry_of(row) for row in rows if row.get("type") == "file"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        mend = "store the answer of the Hub's tree call"
        raise OutsideError(problem("source-unreachable", str(file), f"is no listing of a repository: {error}", mend)) from None


def entry_of(row: Any) -> RemoteFile:
    lfs = row.get("lfs") or {}
    sha256 = lfs.get("oid") or lfs.get("sha256")
    return RemoteFile(str(row["path"]), int(lfs.get("size", row["size"])), str(sha256) if sha256 else None, str(row["oid"]))


def remote_problems(release: Release, listing: Iterable[RemoteFile]) -> Iterator[Problem]:
    """A Problem (HR291) for each file that the remote lacks or has otherwise; a warning for what it has besides."""
    remote = {file.path: file for file in listing}
    listed = {s.name: s.sha256 for s in release.result.provenance.subjects}  # held against the files by their own check
    for path in sorted(release.files - set(SERVER_FILES)):
        if path not in remote:
            yield problem("partial-upload", path, "is not on the remote", "upload again, then compare again")
        elif fault := difference(release, remote[path], listed.get(path)):
            yield problem("partial-upload", path, fault, "upload again, then compare again")
    for path in sorted(remote.keys() - release.files - set(SERVER_FILES)):
        yield problem(
            "remote-extra",
            path,
            "is on the remote and not in the release",
            "delete it there, or build the release with it",
            severity="warning",
        )


def difference(release: Release, remote: RemoteFile, sha256: str | None) -> str | None:
    fd, info = release.folder.open_file(remote.path)
    if info.st_size != remote.size:
        os.close(fd)
        return f"has {remote.size} bytes on the remote, {info.st_size} here"
    if remote.sha256:
        sha256 = sha256 or verify_release.hash_fd(os.dup(fd), info.st_size)[0]
        os.close(fd)
        return None if sha256 == remote.sha256 else f"has SHA-256 {remote.sha256} on the remote, {sha256} here"
    blob = git_blob(fd, info.st_size)
    return None if blob == remote.blob_id else f"is git blob {remote.blob_id} on the remote, {blob} here"


def git_blob(fd: int, size: int) -> str:
    """git's own id of a file's content: SHA-1 over `blob <size>`, NUL and the bytes."""
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with os.fdopen(fd, "rb") as stream:
        while chunk := stream.read(verify_release.CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
