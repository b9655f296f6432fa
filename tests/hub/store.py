"""One model repository: a git repository on disk, its large objects, its discussions and who may see it.

What is stored under `folder` is a working git repository with LFS objects in git-lfs's own place, so git
itself reads it. Refs are files.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .lfs import LargeObjects, Pointer, decode_pointer
from .messages import HubError
from .objects import Commit, Entry, Objects, decode_commit, encode_commit
from .xet import XetFolder

BRANCH, TAG, PULL = "refs/heads/", "refs/tags/", "refs/pr/"
LARGE_NAMES = """
    *.7z *.bin *.ckpt *.gguf *.gz *.h5 *.npy *.npz *.onnx *.parquet *.pickle *.pkl *.pt *.pth *.safetensors *.tar *.tflite
    *.zip *.zst *tfevents* saved_model/**/*
"""
GIT_ATTRIBUTES = "".join(f"{name} filter=lfs diff=lfs merge=lfs -text\n" for name in LARGE_NAMES.split()).encode()


@dataclass(frozen=True)
class File:
    """A file of a commit: `blob_id` names the pointer where there is one, `size` is the real one."""

    path: str
    blob_id: str
    size: int
    pointer: Pointer | None


@dataclass
class Discussion:
    """A discussion or pull request, as in the API; `start` is the commit that a pull request began at."""

    num: int
    title: str
    is_pull_request: bool
    author: str
    created: int
    status: str
    base: str = "main"
    start: str = ""
    merge_commit: str | None = None
    events: list[dict[str, object]] = field(default_factory=list)

    @property
    def ref(self) -> str:
        return f"{PULL}{self.num}"


class Repo:
    def __init__(self, id: str, root: Path, clock: Callable[[], int], private: bool, gated: bool) -> None:
        self.id, self.private, self.gated, self.clock = id, private, gated, clock
        self.created = clock()
        self.lock = threading.RLock()
        self.folder = root / "models" / id
        self.git = self.folder / ".git"
        self.objects = Objects(self.git / "objects")
        self.large = LargeObjects(self.git / "lfs" / "objects")
        self.xet = XetFolder(root / "xet" / id)
        self.discussions: dict[int, Discussion] = {}
        self.scans: dict[str, str | None] = {"": "safe"}
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._blobs: dict[str, tuple[int, Pointer | None]] = {}
        for folder in ("objects", BRANCH, TAG):
            (self.git / folder).mkdir(parents=True)
        (self.git / "HEAD").write_text("ref: refs/heads/main\n")
        (self.git / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")

    # Refs

    def refs(self, prefix: str) -> dict[str, str]:
        """Name without the prefix → commit, sorted by name."""
        top = self.git / prefix
        paths = sorted(path for path in top.rglob("*") if path.is_file())
        return {path.relative_to(top).as_posix(): path.read_text().strip() for path in paths}

    def ref(self, name: str) -> str | None:
        path = self.git / name
        return path.read_text().strip() if ".." not in name and path.is_file() else None

    def set_ref(self, name: str, commit: str) -> None:
        path = self.git / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.git / "ref.lock"
        fresh.write_text(commit + "\n")
        fresh.replace(path)

    def delete_ref(self, name: str) -> None:
        (self.git / name).unlink()

    def resolve(self, rev: str) -> str:
        """The commit that a branch, tag, full ref or 40-hex id means. HubError RevisionNotFound."""
        for name in (rev,) if rev.startswith("refs/") else (BRANCH + rev, TAG + rev):
            if commit := self.ref(name):
                return commit
        if re.fullmatch("[0-9a-f]{40}", rev):
            try:
                return self.commit(rev).id
            except KeyError:
                pass
        raise HubError(404, f"Invalid rev id: {rev}", "RevisionNotFound")

    # Commits and what they hold

    def commit(self, oid: str) -> Commit:
        return decode_commit(oid, self.objects.get("commit", oid))

    def history(self, oid: str) -> Iterator[Commit]:
        """First parents, newest first."""
        commit = self.commit(oid)
        yield commit
        while commit.parents:
            commit = self.commit(commit.parents[0])
            yield commit

    def entries(self, commit: str) -> tuple[Entry, ...]:
        if commit not in self._entries:
            self._entries[commit] = tuple(self.objects.walk(self.commit(commit).tree))
        return self._entries[commit]

    def blobs(self, commit: str) -> dict[str, str]:
        return {entry.path: entry.oid for entry in self.entries(commit) if entry.kind == "blob"}

    def file(self, path: str, blob_id: str) -> File:
        if blob_id not in self._blobs:
            data = self.objects.get("blob", blob_id)
            pointer = decode_pointer(data)
            self._blobs[blob_id] = (pointer.size if pointer else len(data), pointer)
        return File(path, blob_id, *self._blobs[blob_id])

    def file_at(self, commit: str, path: str) -> File:
        """HubError EntryNotFound when the commit has no such file."""
        blob_id = self.blobs(commit).get(path)
        if blob_id is None:
            raise HubError(404, "Entry not found", "EntryNotFound", X_Repo_Commit=commit)
        return self.file(path, blob_id)

    def last_commit(self, commit: str, path: str) -> Commit:
        """The newest commit that changed a file or folder."""
        oids = [(step, {e.path: e.oid for e in self.entries(step.id)}.get(path)) for step in self.history(commit)]
        changed = [step for (step, oid), (_, before) in itertools.pairwise(oids) if oid != before]
        return changed[0] if changed else oids[-1][0]

    def write(self, ref: str, blobs: Mapping[str, str], parents: tuple[str, ...], author: str, message: str) -> str:
        """Make a commit of path → blob id and move a ref to it."""
        tree = self.objects.put_tree(blobs)
        commit = self.objects.put("commit", encode_commit(tree, parents, author, self.clock(), message))
        self.set_ref(ref, commit)
        return commit

    def scan(self, path: str) -> str | None:
        """What the security scan says of a file: safe, unsafe, …, or None when it did not run yet."""
        return self.scans.get(path, self.scans[""])
