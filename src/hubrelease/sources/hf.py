"""A model repository of the Hub: pinned by commit, files by sha256, fetched through huggingface_hub's own cache."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO

from hubrelease.digest import FileDigest
from hubrelease.errors import OutsideError, problem
from hubrelease.hub import RemoteFile
from hubrelease.lock import LockedSource, request_of
from hubrelease.outside import Outside
from hubrelease.sources import Kind, select
from hubrelease.spec import Source
from hubrelease.verify_release import in_threads


def resolve(source: Source, outside: Outside) -> LockedSource:
    """One listing gives sha256 of LFS files; the small rest is fetched and checked against its git blob id."""
    found = outside.hub.resolve(source.locator, source.revision or "main")
    listed = {f.path: f for f in outside.hub.tree(source.locator, found.commit)}
    wanted, others = select(source, listed)
    prefix = f"{source.path}/" if source.path else ""
    files = in_threads(lambda path: digest(source, listed[prefix + path], found.commit, outside), wanted, 4)
    digests = tuple(FileDigest(path, f.sha256, f.size) for path, f in zip(wanted, files, strict=True))
    return LockedSource(source.name, "hf", request_of(source), found.commit, digests, tuple(others),
                        source.license or found.license, private=found.private)  # fmt: skip


def digest(source: Source, file: RemoteFile, commit: str, outside: Outside) -> FileDigest:
    if file.sha256:
        return FileDigest(file.path, file.sha256, file.size)
    path = outside.hub.fetch(source.locator, commit, file.path)
    data = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    if blob != file.blob_id:
        message = f"the bytes in the cache are not those of the commit (git blob {blob}, listed {file.blob_id})"
        raise OutsideError(problem("source-changed", f"hf://{source.locator}/{file.path}", message, f"remove {path} and run again"))
    return FileDigest(file.path, hashlib.sha256(data).hexdigest(), len(data))


def on_disk(locked: LockedSource, path: str, outside: Outside) -> Path:
    prefix = f"{locked.request['path']}/" if "path" in locked.request else ""
    return outside.hub.fetch(locked.request["hf"], locked.revision, prefix + path)


def open_file(locked: LockedSource, path: str, outside: Outside) -> BinaryIO:
    return on_disk(locked, path, outside).open("rb")


KIND = Kind("hf", resolve, open_file, on_disk, on_disk, lambda locked: f"hf://{locked.request['hf']}")
