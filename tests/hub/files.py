"""Reading a commit: model info, its tree, chosen paths, and the files themselves.

The same large file is described in two ways, as the real Hub does it: `lfs.sha256` in model info, `lfs.oid` in trees.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from .messages import Answer, HubError, Request, iso_time, json_answer, paged_answer
from .objects import Entry
from .store import File, Repo

if TYPE_CHECKING:
    from .hub import Hub


def info(hub: Hub, request: Request, repo: Repo, rev: str = "main") -> Answer:
    sha = repo.resolve(rev)
    value: dict[str, Any] = {
        "id": repo.id,
        "modelId": repo.id,
        "author": repo.id.partition("/")[0],
        "sha": sha,
        "private": repo.private,
        "gated": "manual" if repo.gated else False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "cardData": _card_data(repo, sha),
        "createdAt": iso_time(repo.created),
        "lastModified": iso_time(repo.commit(sha).when),
        "siblings": [_sibling(repo, file, request.flag("blobs")) for file in _files(repo, sha)],
    }
    if request.flag("securityStatus"):
        value["securityRepoStatus"] = _repo_scan(repo, sha)
    if expand := request.query.get("expand"):
        value = {name: value[name] for name in value if name in ("id", *expand)}
    return json_answer(value)


def _card_data(repo: Repo, sha: str) -> dict[str, str] | None:
    """The flat `key: value` lines of the card's head; ours has no YAML parser."""
    blob = repo.blobs(sha).get("README.md")
    found = re.match(rb"---\r?\n(.*?)^---\s*$", repo.objects.get("blob", blob), re.DOTALL | re.MULTILINE) if blob else None
    return dict(re.findall(r"^(\w+): *(\S.*?) *$", found[1].decode(), re.MULTILINE)) if found else None


def _files(repo: Repo, sha: str) -> list[File]:
    return [repo.file(path, blob_id) for path, blob_id in repo.blobs(sha).items()]


def _sibling(repo: Repo, file: File, with_blobs: bool) -> dict[str, Any]:
    value: dict[str, Any] = {"rfilename": file.path}
    if with_blobs:
        value |= {"size": file.size, "blobId": file.blob_id}
        if pointer := file.pointer:
            value["lfs"] = {"sha256": pointer.sha256, "size": file.size, "pointerSize": len(pointer.encode())}
    return value


def _repo_scan(repo: Repo, sha: str) -> dict[str, Any] | None:
    scans = {path: repo.scan(path) for path in repo.blobs(sha)}
    if None in scans.values():
        return None
    issues = [{"path": path, "level": scan} for path, scan in scans.items() if scan != "safe"]
    return {"scansDone": True, "filesWithIssues": issues}


def tree(hub: Hub, request: Request, repo: Repo, rev: str, path: str | None = None) -> Answer:
    sha, top = repo.resolve(rev), f"{path}/" if path else ""
    inside = [entry for entry in repo.entries(sha) if entry.path.startswith(top)]
    if top and not inside:
        raise HubError(404, f"{path} does not exist on {rev}", "EntryNotFound")
    if not request.flag("recursive"):
        inside = [entry for entry in inside if "/" not in entry.path[len(top) :]]
    expand = request.flag("expand")
    return paged_answer(request, hub.endpoint, [_describe(repo, sha, entry, expand) for entry in inside], hub.page_size)


def paths_info(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    """Entries of the paths asked for; those that are not there are left out."""
    form = parse_qs(request.body.read().decode())
    sha, wanted = repo.resolve(rev), form.get("paths", [])
    expand = form.get("expand", [""])[0].lower() == "true"
    return json_answer([_describe(repo, sha, entry, expand) for entry in repo.entries(sha) if entry.path in wanted])


def _describe(repo: Repo, sha: str, entry: Entry, expand: bool) -> dict[str, Any]:
    if entry.kind == "tree":
        value: dict[str, Any] = {"type": "directory", "path": entry.path, "oid": entry.oid, "size": 0}
    else:
        value = _describe_file(repo, repo.file(entry.path, entry.oid), expand)
    if expand:
        last = repo.last_commit(sha, entry.path)
        value["lastCommit"] = {"id": last.id, "title": last.title, "date": iso_time(last.when)}
    return value


def _describe_file(repo: Repo, file: File, expand: bool) -> dict[str, Any]:
    value: dict[str, Any] = {"type": "file", "path": file.path, "oid": file.blob_id, "size": file.size}
    if pointer := file.pointer:
        value["lfs"] = {"oid": pointer.sha256, "size": file.size, "pointerSize": len(pointer.encode())}
        if found := repo.xet.find(pointer.sha256):
            value["xetHash"] = found[0]
    if expand and (scan := repo.scan(file.path)):
        parts = {"avScan": {"status": scan}, "pickleImportScan": {"status": scan, "pickleImports": []}}
        value["securityFileStatus"] = {"status": scan, **parts}
    return value


def resolve(hub: Hub, request: Request, repo: Repo, rev: str, path: str) -> Answer:
    """A small file itself, or the way to a large one, which is on another origin."""
    sha = repo.resolve(rev)
    file = repo.file_at(sha, path)
    headers = {"X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
    if file.pointer is None:
        data = repo.objects.get("blob", file.blob_id)
        return Answer(200, data, headers | {"ETag": f'"{file.blob_id}"', "Content-Type": "text/plain; charset=utf-8"})
    headers["Location"] = f"{hub.store_url}/objects/{repo.id}/{file.pointer.sha256}"
    headers |= {"X-Linked-Etag": f'"{file.pointer.sha256}"', "X-Linked-Size": str(file.size)}
    if found := repo.xet.find(file.pointer.sha256):
        headers["X-Xet-Hash"] = found[0]
        headers["Link"] = f'<{hub.endpoint}/api/models/{repo.id}/xet-read-token/{sha}>; rel="xet-auth"'
    return Answer(302, b"", headers)
