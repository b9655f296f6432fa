"""A local folder, relative to release.yaml: pinned by the digest of its tree. Links in it are refused, the Hub cache's apart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from hubrelease import verify_release
from hubrelease.digest import FileDigest, tree_digest
from hubrelease.errors import CheckFailed, OutsideError, Problem, problem
from hubrelease.lock import LockedSource, request_of
from hubrelease.outside import Outside
from hubrelease.sources import Kind, select
from hubrelease.spec import Source

LEFT_BEHIND = (verify_release.LOCAL_DIR, verify_release.LITTER)  # download caches and editors' litter are no source


def folder_of(locator: str, path: str, outside: Outside) -> verify_release.Folder:
    root = outside.folder / locator / path
    if not root.is_dir():
        message = f"the folder {os.path.normpath(Path(locator) / path)} does not exist"
        raise OutsideError(problem("source-unreachable", f"folder:{locator}", message, "correct the path, relative to release.yaml"))
    return verify_release.Folder(root)


def resolve(source: Source, outside: Outside) -> LockedSource:
    folder = folder_of(source.locator, source.path, outside)
    entries, faults = folder.scan()
    plain = {p: e for p, e in entries.items() if not any(rule.search(p) for rule in LEFT_BEHIND) and p != ".gitattributes"}
    wanted, others = select(Source(source.name, "folder", "", wanted=source.wanted), plain)
    refused = [refusal(source, p) for p in wanted if plain[p].kind != "file"]
    refused += [problem("source-unreachable", f"folder:{source.locator}/{f.file}", f.message, f.mend) for f in faults]
    if refused:
        raise CheckFailed(refused)
    outside.progress.start(f"hashing {source.name}", sum(plain[p].size for p in wanted))
    digests = verify_release.in_threads(lambda path: digest(source, folder, path, outside), wanted)
    outside.progress.finish()
    return LockedSource(source.name, "folder", request_of(source), tree_digest(digests), tuple(digests), tuple(others), source.license)


def refusal(source: Source, path: str) -> Problem:
    message = "is a link, a FIFO or a device; its bytes do not lie in the folder"
    return problem("path-invalid", f"folder:{source.locator}/{path}", message, "put the file itself in its place (cp -L)")


def digest(source: Source, folder: verify_release.Folder, path: str, outside: Outside) -> FileDigest:
    try:
        fd, info = folder.open_file(path)
        sha256, size = verify_release.hash_fd(fd, info.st_size, outside.progress.advance)
    except OSError as error:
        message = f"could not be read: {error.strerror}"
        raise OutsideError(problem("source-unreachable", f"folder:{source.locator}/{path}", message, "give yourself read access")) from None
    return FileDigest(path, sha256, size)


def open_file(locked: LockedSource, path: str, outside: Outside) -> BinaryIO:
    folder = folder_of(locked.request["folder"], locked.request.get("path", ""), outside)
    try:
        fd, _ = folder.open_file(path)
    except OSError as error:
        message = f"could not be read: {error.strerror}"
        raise OutsideError(problem("source-unreachable", f"folder:{locked.request['folder']}/{path}", message,
                                   f"restore it, or run `hubrelease pin --update {locked.name}`")) from None  # fmt: skip
    return os.fdopen(fd, "rb", buffering=0)


def on_disk(locked: LockedSource, path: str, outside: Outside) -> Path:
    return Path(os.path.realpath(outside.folder / locked.request["folder"] / locked.request.get("path", "") / path))


KIND = Kind("folder", resolve, open_file, on_disk, lambda *_: None, lambda locked: f"file:{locked.request['folder']}")
