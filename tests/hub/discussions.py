"""Discussions and pull requests: one counter, refs/pr/N, and a merge that makes one new commit.

What the real Hub answers where no source says it (the 409s, the form of the merge commit, a pull request's ref
that stays after the merge) is our choice; no code may depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .messages import Answer, HubError, Request, iso_time, json_answer, page_of
from .store import BRANCH, Discussion, Repo

if TYPE_CHECKING:
    from .hub import Hub

Blobs = dict[str, str]


def merge_trees(base: Blobs, ours: Blobs, theirs: Blobs) -> tuple[Blobs, list[str]]:
    """Their changes since the base on top of ours, and the paths that both changed differently."""
    merged, conflicts = dict(ours), []
    for path in sorted(base.keys() | theirs.keys()):
        was, now = base.get(path), theirs.get(path)
        if now == was or now == ours.get(path):
            continue
        if ours.get(path) != was:
            conflicts.append(path)
        elif now is None:
            del merged[path]
        else:
            merged[path] = now
    return merged, conflicts


def _merge(repo: Repo, pull: Discussion) -> tuple[Blobs, list[str] | bool]:
    ours, theirs = repo.resolve(BRANCH + pull.base), repo.resolve(pull.ref)
    before = {step.id for step in repo.history(theirs)}
    base = next((step.id for step in repo.history(ours) if step.id in before), None)
    if base is None:
        return {}, True
    return merge_trees(repo.blobs(base), repo.blobs(ours), repo.blobs(theirs))


# Making and changing them


def _note(repo: Repo, item: Discussion, kind: str, author: str, data: dict[str, Any]) -> dict[str, Any]:
    moment = iso_time(repo.clock())
    oid = f"{item.num:012x}{len(item.events):012x}"
    event: dict[str, Any] = {"id": oid, "type": kind, "createdAt": moment, "author": {"name": author}, "data": data}
    item.events.append(event)
    return event


def _comment(repo: Repo, item: Discussion, author: str, text: str) -> dict[str, Any]:
    latest = {"raw": text, "html": text, "updatedAt": iso_time(repo.clock()), "author": {"name": author}}
    return _note(repo, item, "comment", author, {"edited": False, "hidden": False, "latest": latest, "history": []})


def _open(repo: Repo, title: str, text: str, author: str, is_pull: bool, status: str) -> Discussion:
    if len(title) < 3:
        raise HubError(400, "The title must have at least 3 characters")
    item = Discussion(max(repo.discussions, default=0) + 1, title, is_pull, author, repo.clock(), status)
    repo.discussions[item.num] = item
    if text:
        _comment(repo, item, author, text)
    return item


def open_pull(repo: Repo, title: str, text: str, author: str, start: str, base: str, status: str) -> Discussion:
    pull = _open(repo, title, text, author, True, status)
    pull.base, pull.start = base, start
    repo.set_ref(pull.ref, start)
    return pull


def forget(repo: Repo, pull: Discussion) -> None:
    """Undo an open_pull whose first commit was refused."""
    del repo.discussions[pull.num]
    repo.delete_ref(pull.ref)


def note_commit(repo: Repo, ref: str, oid: str, author: str) -> None:
    pull = next(item for item in repo.discussions.values() if item.ref == ref)
    _note(repo, pull, "commit", author, {"subject": repo.commit(oid).title, "oid": oid})


def _find(repo: Repo, num: str) -> Discussion:
    if int(num) not in repo.discussions:
        raise HubError(404, f"Discussion {num} not found")
    return repo.discussions[int(num)]


# Calls


def create(hub: Hub, request: Request, repo: Repo) -> Answer:
    asked, author = request.json(), request.sender().name
    with repo.lock:
        if asked.get("pullRequest"):
            start = repo.resolve("main")
            item = open_pull(repo, asked["title"], asked["description"], author, start, "main", "draft")
        else:
            item = _open(repo, asked["title"], asked["description"], author, False, "open")
    return json_answer({"num": item.num, "url": f"{hub.endpoint}/{repo.id}/discussions/{item.num}"})


def _summary(repo: Repo, item: Discussion) -> dict[str, Any]:
    summary = {"num": item.num, "title": item.title, "status": item.status, "isPullRequest": item.is_pull_request}
    return summary | {
        "author": {"name": item.author},
        "createdAt": iso_time(item.created),
        "repo": {"name": repo.id, "type": "model"},
    }


def details(hub: Hub, request: Request, repo: Repo, num: str) -> Answer:
    item = _find(repo, num)
    value = _summary(repo, item) | {"events": item.events}
    if item.is_pull_request:
        value["changes"] = {"base": BRANCH + item.base, "mergeCommitId": item.merge_commit}
        value["filesWithConflicts"] = [] if item.status == "merged" else _merge(repo, item)[1]
    return json_answer(value)


def listing(hub: Hub, request: Request, repo: Repo) -> Answer:
    wanted = {name: values[0] for name, values in request.query.items()}
    items = [item for _, item in sorted(repo.discussions.items(), reverse=True)]
    if kind := wanted.get("type"):
        items = [item for item in items if kind == "all" or item.is_pull_request == (kind == "pull_request")]
    if status := wanted.get("status"):
        # A draft counts as open, a merged one as closed.
        is_open = status == "open"
        items = [item for item in items if status == "all" or (item.status in ("open", "draft")) == is_open]
    if author := wanted.get("author"):
        items = [item for item in items if item.author == author]
    start, page = page_of(items, int(wanted.get("p", 0)), hub.page_size)
    return json_answer({"count": len(items), "start": start, "discussions": [_summary(repo, item) for item in page]})


def comment(hub: Hub, request: Request, repo: Repo, num: str) -> Answer:
    with repo.lock:
        event = _comment(repo, _find(repo, num), request.sender().name, request.json()["comment"])
    return json_answer({"newMessage": event})


def title(hub: Hub, request: Request, repo: Repo, num: str) -> Answer:
    with repo.lock:
        item, new = _find(repo, num), request.json()["title"]
        event = _note(repo, item, "title-change", request.sender().name, {"from": item.title, "to": new})
        item.title = new
    return json_answer({"newTitle": event})


def status(hub: Hub, request: Request, repo: Repo, num: str) -> Answer:
    asked, author = request.json(), request.sender().name
    with repo.lock:
        item = _find(repo, num)
        if item.status == "merged":
            raise HubError(409, "This pull request is merged")
        if asked.get("comment"):
            _comment(repo, item, author, asked["comment"])
        item.status = asked["status"]
        event = _note(repo, item, "status-change", author, {"status": item.status})
    return json_answer({"newStatus": event})


def merge(hub: Hub, request: Request, repo: Repo, num: str) -> Answer:
    """One new commit on the base branch with the pull request's changes. HubError 409 when that cannot be."""
    author, asked = request.sender().name, request.json()
    with repo.lock:
        item = _find(repo, num)
        if not item.is_pull_request or item.status != "open":
            raise HubError(409, f"Discussion {num} is {item.status} and cannot be merged")
        blobs, conflicts = _merge(repo, item)
        if conflicts:
            raise HubError(409, f"Pull request {num} has conflicts with {item.base}")
        if asked.get("comment"):
            _comment(repo, item, author, asked["comment"])
        ref = BRANCH + item.base
        item.merge_commit = repo.write(ref, blobs, (repo.resolve(ref),), author, f"{item.title} (#{num})")
        item.status = "merged"
        _note(repo, item, "status-change", author, {"status": "merged"})
    return json_answer({"success": True})
