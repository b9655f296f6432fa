"""`hubrelease convert`: a model folder in, a model folder out, without a spec. Written beside and put in place whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hubrelease import verify_release
from hubrelease.conversion import configs, convert
from hubrelease.conversion.convert import Request
from hubrelease.digest import FileDigest
from hubrelease.errors import CheckFailed, OutsideError, problem
from hubrelease.fetch import SourceFile
from hubrelease.identities import Pool
from hubrelease.lock import LockedSource
from hubrelease.manifest import role_of
from hubrelease.outside import Outside
from hubrelease.reshard import INDEX
from hubrelease.sources.folder import LEFT_BEHIND
from hubrelease.tree import Copy, Tree
from hubrelease.verify_release import strict_json
from hubrelease.workspace import occupied, opened


@dataclass(frozen=True)
class Converted:
    """Where the result lies, its files and bytes, and the totals of its manifest."""

    folder: Path
    files: int
    size: int
    totals: dict[str, Any]


def convert_folder(source: Path, out: Path, asked: Request, outside: Outside, jobs: int | None = None) -> Converted:
    """Converts the checkpoint in `source` into a new folder `out`. Raises a ReleaseError; then `out` is as it was."""
    target = Path(os.path.realpath(out))
    if target.is_dir() and any(target.iterdir()):
        raise CheckFailed(occupied(str(target), "is not empty"))
    files = list(source_files(source, outside))
    config = next((f for f in files if f.path == configs.CONFIG), None)
    if config is None:
        raise CheckFailed(problem("weights-unusable", str(source), "has no config.json", "name the folder of a model"))
    checkpoint = convert.open_checkpoint([f for f in files if role_of(f.path) == "weights"], config.read())
    with opened(target) as work:
        tree = Tree(work.new_tree(), work.journal, Pool(work.journal.read()), jobs or cores(), progress=outside.progress)
        manifest = convert.convert(tree, checkpoint, asked, outside.cache / "conversions")
        taken = {configs.CONFIG, configs.HF_QUANT, INDEX}
        rest = [hashed(f) for f in files if f.path not in taken and (role_of(f.path) != "weights" or f in checkpoint.rest)]
        tree.copy_all([Copy(f.path, f) for f in rest], "side files")
        tree.finish()
        work.publish(tree.root)
        work.clear()
    entries = tree.list()
    return Converted(target, len(entries), sum(e.size for e in entries), strict_json(manifest)["totals"])


def cores() -> int:
    return len(os.sched_getaffinity(0))


def source_files(source: Path, outside: Outside) -> Iterator[SourceFile]:
    """The folder's files: shards by their size alone, to be hashed while they are read; the rest with their digests."""
    if not source.is_dir():
        raise OutsideError(problem("source-unreachable", str(source), "is no folder", "name the folder of a model"))
    folder = verify_release.Folder(source)
    entries, _ = folder.scan()
    locked = LockedSource("source", "folder", {"folder": os.path.relpath(source, outside.folder)}, "")
    for path, entry in sorted(entries.items()):
        if entry.kind == "file" and not any(rule.search(path) for rule in LEFT_BEHIND):
            shard = "/" not in path and path.endswith(".safetensors") and path not in (INDEX,)
            digest = FileDigest(path, "" if shard else digest_of(folder, path, entry.size), entry.size)
            yield SourceFile(locked, digest, outside)


def hashed(file: SourceFile) -> SourceFile:
    """The file with its digest: weights that are no part of the checkpoint were not hashed yet."""
    if file.digest.sha256:
        return file
    digest = hashlib.sha256()
    with file.open() as stream:
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return replace(file, digest=replace(file.digest, sha256=digest.hexdigest()))


def digest_of(folder: verify_release.Folder, path: str, size: int) -> str:
    fd, _ = folder.open_file(path)
    return verify_release.hash_fd(fd, size)[0]
