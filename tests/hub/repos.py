"""Calls about users, repositories and refs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .messages import Answer, HubError, Request, iso_time, json_answer, paged_answer
from .store import BRANCH, PULL, TAG, Repo

if TYPE_CHECKING:
    from .hub import Hub


def whoami(hub: Hub, request: Request) -> Answer:
    user = request.sender()
    token = {"displayName": "local", "role": user.role}
    return json_answer({"type": "user", "name": user.name, "fullname": user.name, "orgs": [], "auth": {"accessToken": token}})


def harnesses(hub: Hub, request: Request) -> Answer:
    return json_answer({"standardEnvVars": [], "harnesses": {}})


def validate_card(hub: Hub, request: Request) -> Answer:
    """A rough check without a YAML parser: the head of the card is there, closed, and not indented with tabs."""
    content = request.json()["content"]
    if not content.startswith("---"):
        return json_answer({"errors": [], "warnings": [{"message": "empty or missing yaml metadata in repo card"}]})
    found = re.match(r"---[ \t]*\r?\n(.*?)^---[ \t]*$", content, re.DOTALL | re.MULTILINE)
    if not found or "\t" in found[1]:
        return json_answer({"errors": [{"message": "the metadata is not valid YAML"}]}, 400)
    return json_answer({"errors": [], "warnings": []})


def _named(hub: Hub, request: Request) -> tuple[str, dict[str, Any]]:
    asked = request.json()
    if asked.get("type") not in (None, "model"):
        raise HubError(400, "Only models are kept here")
    return f"{asked.get('organization') or request.sender().name}/{asked['name']}", asked


def create(hub: Hub, request: Request) -> Answer:
    if not request.sender().may_write:
        raise HubError(403, "You don't have the rights to create a model under this namespace")
    repo_id, asked = _named(hub, request)
    value = {"url": f"{hub.endpoint}/{repo_id}", "name": repo_id, "id": repo_id}
    if repo_id in hub.repos:
        # The client reads the url of this refusal when told that an existing repository is fine.
        message = "You already created this model repo"
        return json_answer({"error": message, **value}, 409, X_Error_Message=message)
    hub.create(repo_id, private=asked.get("visibility") == "private" or asked.get("private") is True)
    return json_answer(value)


def delete(hub: Hub, request: Request) -> Answer:
    repo_id = _named(hub, request)[0]
    if not request.sender().may_write or repo_id not in hub.repos:
        raise HubError(404, "Repository not found", "RepoNotFound")
    hub.delete(repo_id)
    return json_answer({})


def commits(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    history = [
        {
            "id": step.id,
            "title": step.title,
            "message": step.description,
            "date": iso_time(step.when),
            "authors": [{"user": step.author}],
        }
        for step in repo.history(repo.resolve(rev))
    ]
    return paged_answer(request, hub.endpoint, history, hub.page_size)


def refs(hub: Hub, request: Request, repo: Repo) -> Answer:
    def under(prefix: str) -> list[dict[str, str]]:
        found = repo.refs(prefix).items()
        return [{"name": name, "ref": prefix + name, "targetCommit": commit} for name, commit in found]

    value = {"branches": under(BRANCH), "tags": under(TAG), "converts": []}
    if request.flag("include_prs"):
        value["pullRequests"] = under(PULL)
    return json_answer(value)


def check_ref_name(name: str) -> None:
    """HubError 400 for a name that git would not take, or that starts with refs/."""
    parts = name.split("/")
    is_odd = any(not part or part.startswith(".") or part.endswith((".", ".lock")) for part in parts)
    if is_odd or name.startswith("refs/") or re.search(r"[\s~^:?*\[\\\x00-\x1f]|\.\.|@\{", name):
        raise HubError(400, f"Invalid reference name: {name}")


def create_tag(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    name = request.json()["tag"]
    check_ref_name(name)
    with repo.lock:
        if repo.ref(TAG + name):
            raise HubError(409, f"Tag {name} already exists")
        repo.set_ref(TAG + name, repo.resolve(rev))
    return json_answer({})


def delete_tag(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    with repo.lock:
        if not repo.ref(TAG + rev):
            raise HubError(404, f"Invalid rev id: {rev}", "RevisionNotFound")
        repo.delete_ref(TAG + rev)
    return json_answer({})


def create_branch(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    check_ref_name(rev)
    start = request.json().get("startingPoint") or "main"
    with repo.lock:
        if repo.ref(BRANCH + rev):
            raise HubError(409, f"Branch {rev} already exists")
        repo.set_ref(BRANCH + rev, repo.resolve(start))
    return json_answer({})


def delete_branch(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    if rev == "main":
        raise HubError(403, "Cannot delete refs/heads/main")
    with repo.lock:
        if not repo.ref(BRANCH + rev):
            raise HubError(404, f"Invalid rev id: {rev}", "RevisionNotFound")
        repo.delete_ref(BRANCH + rev)
    return json_answer({})


def squash(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    """Replace a branch's history by one commit with the same files."""
    message, author = request.json().get("message") or "squash", request.sender().name
    with repo.lock:
        head = repo.ref(BRANCH + rev)
        if head is None and repo.ref(TAG + rev):
            raise HubError(400, f"{rev} is a tag")
        if head is None:
            raise HubError(404, f"Invalid rev id: {rev}", "RevisionNotFound")
        repo.write(BRANCH + rev, repo.blobs(head), (), author, message)
    return json_answer({})
