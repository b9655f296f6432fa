"""The table of calls, who may make them, and the way from a request to its answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from . import commits, discussions, files, lfs, repos, xet
from .messages import Answer, HubError, Request, User
from .store import Repo

if TYPE_CHECKING:
    from .hub import Hub

REPO = r"(?P<repo>[^/]+/[^/]+)"
MODEL = rf"/api/models/{REPO}"
REV = r"(?P<rev>[^/]+)"
OBJECT = rf"/objects/{REPO}/(?P<oid>[0-9a-f]{{64}})"
NUM = r"(?P<num>\d+)"


class Route(NamedTuple):
    """`access` is open (no token looked at), user, read, files (not when gated) or write."""

    method: str
    path: str
    access: str
    call: Callable[..., Answer]


ROUTES = (
    Route("GET", "/api/whoami-v2", "user", repos.whoami),
    Route("GET", "/api/agent-harnesses", "open", repos.harnesses),
    Route("POST", "/api/validate-yaml", "open", repos.validate_card),
    Route("POST", "/api/repos/create", "user", repos.create),
    Route("DELETE", "/api/repos/delete", "user", repos.delete),
    Route("GET", MODEL, "read", files.info),
    Route("GET", f"{MODEL}/revision/{REV}", "read", files.info),
    Route("GET", f"{MODEL}/tree/{REV}(?:/(?P<path>.+?))?/?", "read", files.tree),
    Route("POST", f"{MODEL}/paths-info/{REV}", "read", files.paths_info),
    Route("GET", f"{MODEL}/commits/{REV}", "read", repos.commits),
    Route("GET", f"{MODEL}/refs", "read", repos.refs),
    Route("POST", f"{MODEL}/tag/{REV}", "write", repos.create_tag),
    Route("DELETE", f"{MODEL}/tag/{REV}", "write", repos.delete_tag),
    Route("POST", f"{MODEL}/branch/{REV}", "write", repos.create_branch),
    Route("DELETE", f"{MODEL}/branch/{REV}", "write", repos.delete_branch),
    Route("POST", f"{MODEL}/super-squash/{REV}", "write", repos.squash),
    Route("POST", f"{MODEL}/preupload/{REV}", "write", commits.preupload),
    Route("POST", f"{MODEL}/commit/{REV}", "write", commits.commit),
    Route("GET", f"{MODEL}/xet-write-token/{REV}", "write", xet.token),
    Route("GET", f"{MODEL}/xet-read-token/{REV}", "files", xet.token),
    Route("GET", f"{MODEL}/discussions", "read", discussions.listing),
    Route("POST", f"{MODEL}/discussions", "write", discussions.create),
    Route("GET", f"{MODEL}/discussions/{NUM}", "read", discussions.details),
    Route("POST", f"{MODEL}/discussions/{NUM}/comment", "write", discussions.comment),
    Route("POST", f"{MODEL}/discussions/{NUM}/title", "write", discussions.title),
    Route("POST", f"{MODEL}/discussions/{NUM}/status", "write", discussions.status),
    Route("POST", f"{MODEL}/discussions/{NUM}/merge", "write", discussions.merge),
    Route("POST", rf"/{REPO}\.git/info/lfs/objects/batch", "write", lfs.batch),
    Route("POST", rf"/{REPO}\.git/info/lfs/objects/verify", "write", lfs.verify),
    Route("GET", f"/{REPO}/resolve/{REV}/(?P<path>.+)", "files", files.resolve),
    Route("GET", OBJECT, "open", lfs.get_object),
    Route("PUT", OBJECT, "open", lfs.put_object),
    Route("PUT", OBJECT + r"/(?P<number>\d+)", "open", lfs.put_part),
    Route("POST", OBJECT, "open", lfs.complete),
)
COMPILED = tuple((route, re.compile(route.path)) for route in ROUTES)


def answer(hub: Hub, request: Request) -> Answer:
    """Find the call, let the user in, make it. HubError when any of that is refused."""
    method = "GET" if request.method == "HEAD" else request.method
    for route, pattern in COMPILED:
        if route.method == method and (found := pattern.fullmatch(request.path)):
            named = {name: unquote(value) for name, value in found.groupdict().items() if value is not None}
            repo_id = named.pop("repo", None)
            if repo_id is None:
                _admit_user(route.access, request.user)
                return route.call(hub, request)
            return route.call(hub, request, _admit(hub, route.access, request.user, repo_id), **named)
    raise HubError(404, "Sorry, we can't find the page you are looking for.")


def identify(hub: Hub, request: Request) -> User | None:
    """Whose token it is. HubError 401 for one that is nobody's."""
    given = request.headers.get("Authorization")
    if given is None or request.path.startswith("/objects/"):
        return None
    user = hub.users.get(given.removeprefix("Bearer "))
    if user is None:
        raise HubError(401, "Invalid credentials in Authorization header")
    return user


def _admit_user(access: str, user: User | None) -> None:
    if access == "user" and user is None:
        raise HubError(401, "Invalid username or password.")


def _admit(hub: Hub, access: str, user: User | None, repo_id: str) -> Repo:
    repo = hub.repos.get(repo_id)
    trusted = user is not None and user.may_write
    if repo is None or (repo.private and not trusted and access != "open"):
        raise HubError(404 if user else 401, "Repository not found", "RepoNotFound")
    if access == "write" and not trusted:
        raise (
            HubError(403, "You don't have the rights to write to this repository")
            if user
            else HubError(401, "Invalid username or password.")
        )
    if access == "files" and repo.gated and not trusted:
        raise HubError(403 if user else 401, f"Access to model {repo_id} is restricted", "GatedRepo")
    return repo
