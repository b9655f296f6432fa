"""Making commits: which files are large, what a list of operations does to a tree, and the two calls for it.

`Change` is the one way a tree is changed, for the HTTP calls and for tests that fill a repository directly.
A large file is one that .gitattributes names, that is over the Hub's threshold, or that looks binary.
"""

from __future__ import annotations

import base64
import codecs
import fnmatch
import json
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from . import discussions
from .lfs import Pointer
from .messages import Answer, HubError, Request, json_answer
from .store import BRANCH, PULL, Repo

if TYPE_CHECKING:
    from .hub import Hub

STALE_PARENT = "The branch was updated since you opened this page. Please refresh and try again."


def matches(pattern: str, path: str) -> bool:
    """A line of .gitattributes or .gitignore, as far as releases use them: a glob of a name, a path or a folder."""
    anchored, pattern = "/" in pattern.rstrip("/"), pattern.strip("/")
    parents = [parent.as_posix() for parent in PurePosixPath(path).parents][:-1]
    if anchored:
        return any(fnmatch.fnmatchcase(name, pattern.replace("**/", "*")) for name in (path, *parents))
    return any(fnmatch.fnmatchcase(name, pattern) for name in PurePosixPath(path).parts)


def patterns_of(text: bytes, needed: str = "") -> list[str]:
    """The first words of the lines that are no comment and hold `needed`."""
    lines = (line.split() for line in text.decode().splitlines())
    return [line[0] for line in lines if line and not line[0].startswith("#") and (not needed or needed in line)]


def looks_binary(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return True
    return b"\0" in sample


def is_large(hub: Hub, repo: Repo, commit: str, path: str, size: int, sample: bytes) -> bool:
    attributes = repo.blobs(commit).get(".gitattributes")
    text = repo.objects.get("blob", attributes) if attributes else b""
    named = any(matches(pattern, path) for pattern in patterns_of(text, "filter=lfs"))
    return size > 0 and (named or size > hub.large_bytes or looks_binary(sample))


class Change:
    """Path → blob id of a tree that is being changed. Every refusal is a HubError and leaves the repository alone."""

    def __init__(self, repo: Repo, blobs: dict[str, str]) -> None:
        self.repo, self.blobs = repo, dict(blobs)

    def add(self, path: str, data: bytes) -> None:
        self._put(path, self.repo.objects.put("blob", data))

    def add_pointer(self, path: str, pointer: Pointer) -> None:
        self._put(path, self.repo.objects.put("blob", pointer.encode()))

    def add_large(self, path: str, sha256: str, size: int | None) -> None:
        """Point at an object that was uploaded before. The size is checked against what is here."""
        if self.repo.large.has(sha256):
            real = self.repo.large.path(sha256).stat().st_size
        elif found := self.repo.xet.find(sha256):
            real = found[1]
        else:
            raise HubError(400, f"LFS object {sha256} of {path} was never uploaded")
        if size not in (None, real):
            raise HubError(400, f"LFS object of {path} has {real} bytes, not {size}")
        self.add_pointer(path, Pointer(sha256, real))

    def delete(self, path: str) -> None:
        if self.blobs.pop(path, None) is None:
            raise HubError(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")

    def delete_folder(self, path: str) -> None:
        inside = [name for name in self.blobs if name.startswith(path.rstrip("/") + "/")]
        if not inside:
            raise HubError(404, f"A folder with this name doesn't exist: {path}", "EntryNotFound")
        for name in inside:
            del self.blobs[name]

    def _put(self, path: str, blob_id: str) -> None:
        parts = path.split("/")
        if not path or any(part.lower() in ("", ".", "..", ".git") for part in parts):
            raise HubError(400, f"Invalid path: {path!r}")
        if any(parent.as_posix() in self.blobs for parent in PurePosixPath(path).parents):
            raise HubError(400, f"A parent of {path} is a file")
        if any(name.startswith(path + "/") for name in self.blobs):
            raise HubError(400, f"{path} is a folder")
        self.blobs[path] = blob_id


def preupload(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    """How each file is to be sent, and the id of what is there now: the client skips a file whose id is the same."""
    asked, commit = request.json(), repo.resolve(rev)
    ignored = patterns_of(asked.get("gitIgnore", "").encode())
    return json_answer({"files": [_advise(hub, repo, commit, item, ignored) for item in asked["files"]]})


def _advise(hub: Hub, repo: Repo, commit: str, item: dict[str, Any], ignored: list[str]) -> dict[str, Any]:
    path, sample = item["path"], base64.b64decode(item.get("sample", ""))
    mode = "lfs" if is_large(hub, repo, commit, path, item["size"], sample) else "regular"
    advice = {"path": path, "uploadMode": mode, "shouldIgnore": any(matches(p, path) for p in ignored)}
    if blob_id := repo.blobs(commit).get(path):
        pointer = repo.file(path, blob_id).pointer
        advice["oid"] = pointer.sha256 if pointer else blob_id
    return advice


def commit(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    """Commit to a branch or pull request, or with ?create_pr=1 to a new pull request on a branch."""
    lines = [json.loads(line) for line in request.body.read().splitlines() if line.strip()]
    header: dict[str, Any] = next((line["value"] for line in lines if line["key"] == "header"), {})
    operations = [line for line in lines if line["key"] != "header"]
    author = request.sender().name
    with repo.lock:
        ref = rev if rev.startswith((PULL, BRANCH)) else BRANCH + rev
        head = repo.ref(ref)
        if head is None:
            raise HubError(404, f"Invalid rev id: {rev}", "RevisionNotFound")
        if request.flag("create_pr"):
            return _commit_to_new_pull(hub, repo, rev, head, header, operations, author)
        if not head.startswith(header.get("parentCommit") or head):
            raise HubError(412, STALE_PARENT)
        return _answer(hub, repo, write(repo, ref, head, header, operations, author))


def write(repo: Repo, ref: str, parent: str, header: dict[str, Any], operations: Iterable[dict[str, Any]], author: str) -> str:
    """Apply operations to a parent's tree and move a ref to the new commit; on a pull request that is an event."""
    change = Change(repo, repo.blobs(parent))
    for operation in operations:
        _apply(change, operation["key"], operation["value"])
    message = "\n\n".join(text for text in (header.get("summary"), header.get("description")) if text)
    oid = repo.write(ref, change.blobs, (parent,), author, message)
    if ref.startswith(PULL):
        discussions.note_commit(repo, ref, oid, author)
    return oid


def _apply(change: Change, key: str, value: dict[str, Any]) -> None:
    path = value["path"]
    match key:
        case "file":
            change.add(path, base64.b64decode(value["content"]))
        case "lfsFile":
            change.add_large(path, value["oid"], value.get("size"))
        case "deletedFile":
            change.delete(path)
        case "deletedFolder":
            change.delete_folder(path)
        case _:
            raise HubError(400, f"Unknown operation: {key}")


def _commit_to_new_pull(
    hub: Hub, repo: Repo, base: str, head: str, header: dict[str, Any], operations: list[dict[str, Any]], author: str
) -> Answer:
    # Here parentCommit is where the pull request starts, not a condition.
    wanted = header.get("parentCommit") or head
    start = next((step.id for step in repo.history(head) if step.id.startswith(wanted)), None)
    if start is None:
        raise HubError(404, f"Invalid rev id: {wanted}", "RevisionNotFound")
    pull = discussions.open_pull(repo, header["summary"], header.get("description", ""), author, start, base, "open")
    try:
        oid = write(repo, pull.ref, start, header, operations, author)
    except HubError:
        discussions.forget(repo, pull)
        raise
    return _answer(hub, repo, oid, pullRequestUrl=f"{hub.endpoint}/{repo.id}/discussions/{pull.num}")


def _answer(hub: Hub, repo: Repo, oid: str, **more: str) -> Answer:
    url = f"{hub.endpoint}/{repo.id}/commit/{oid}"
    return json_answer({"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": "", **more})
