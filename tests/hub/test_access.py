"""Refusals have the names that the client gives them, and the plain HTTP of reading: ranges, HEAD, pages."""

import io
import json
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import pytest

from hub import Hub, python
from hub.messages import Body

from .conftest import Env

REPO = "owner/model"

REFUSALS = """
import json, sys
from huggingface_hub import CommitOperationAdd, HfApi
api, seen = HfApi(), {}
READER = sys.argv[1]
def call(name, function, *arguments, **named):
    try:
        function(*arguments, **named)
        seen[name] = "done"
    except Exception as error:
        response = getattr(error, "response", None)
        seen[name] = type(error).__name__ + (f" {response.status_code}" if response is not None else "")
def get(repo, path, **named):
    return api.hf_hub_download(repo, path, **named)
add = [CommitOperationAdd("new.txt", b"new")]
call("missing repository", api.model_info, "owner/absent")
call("missing repository, no token", api.model_info, "owner/absent", token=False)
call("missing revision", api.model_info, "owner/model", revision="absent")
call("missing commit", api.model_info, "owner/model", revision="0" * 40)
call("missing file", get, "owner/model", "absent.txt")
call("missing folder", lambda: list(api.list_repo_tree("owner/model", "absent")))
call("wrong token", api.model_info, "owner/model", token="hf_wrong")
call("wrong token whoami", api.whoami, token="hf_wrong")
call("public, no token", get, "owner/model", "a.txt", token=False)
call("private", get, "owner/secret", "a.txt", revision="main")
call("private, no token", api.model_info, "owner/secret", token=False)
call("private, reader", api.model_info, "owner/secret", token=READER)
call("gated, no token", get, "owner/gated", "a.txt", token=False)
call("gated, reader", get, "owner/gated", "a.txt", token=READER)
call("gated, listing", api.model_info, "owner/gated", token=READER)
call("gated", get, "owner/gated", "a.txt")
call("commit, reader", api.create_commit, "owner/model", add, commit_message="x", token=READER)
call("commit, no branch", api.create_commit, "owner/model", add, commit_message="x", revision="absent")
call("create, reader", api.create_repo, "reader/new", token=READER)
call("bad card", api.upload_file, path_or_fileobj=b"---\\nlicense: mit\\n", path_in_repo="README.md", repo_id="owner/model")
call("delete of nothing", api.delete_file, "absent.txt", "owner/model")
call("delete repository", api.delete_repo, "owner/doomed")
call("deleted repository", api.model_info, "owner/doomed")
print(json.dumps(seen))
"""


def test_refusals_have_their_names(hub: Hub, env: Env) -> None:
    for name in ("model", "secret", "gated", "doomed"):
        hub.create(f"owner/{name}", {"a.txt": b"a"}, private=name == "secret", gated=name == "gated")
    assert json.loads(python(env(), REFUSALS, hub.user("reader"))) == {
        "missing repository": "RepositoryNotFoundError 404",
        "missing repository, no token": "RepositoryNotFoundError 401",
        "missing revision": "RevisionNotFoundError 404",
        "missing commit": "RevisionNotFoundError 404",
        "missing file": "RemoteEntryNotFoundError 404",
        "missing folder": "RemoteEntryNotFoundError 404",
        "wrong token": "HfHubHTTPError 401",
        "wrong token whoami": "HfHubHTTPError 401",
        "public, no token": "done",
        "private": "done",
        "private, no token": "RepositoryNotFoundError 401",
        "private, reader": "RepositoryNotFoundError 404",
        "gated, no token": "GatedRepoError 401",
        "gated, reader": "GatedRepoError 403",
        "gated, listing": "done",
        "gated": "done",
        "commit, reader": "HfHubHTTPError 403",
        "commit, no branch": "RevisionNotFoundError 404",
        "create, reader": "HfHubHTTPError 403",
        "bad card": "ValueError",
        "delete of nothing": "RemoteEntryNotFoundError 404",
        "delete repository": "done",
        "deleted repository": "RepositoryNotFoundError 404",
    }


REFS = """
from huggingface_hub import HfApi
api, repo = HfApi(), "owner/model"
api.create_branch(repo, branch="next")
api.create_branch(repo, branch="next", exist_ok=True)
api.upload_file(path_or_fileobj=b"b", path_in_repo="b.txt", repo_id=repo, revision="next")
api.create_tag(repo, tag="v1", revision="next")
api.create_tag(repo, tag="gone")
api.delete_tag(repo, tag="gone")
assert api.model_info(repo, revision="v1").sha == api.model_info(repo, revision="next").sha
api.create_branch(repo, branch="old", revision="main")
api.delete_branch(repo, branch="old")
api.super_squash_history(repo, branch="next")
assert len(api.list_repo_commits(repo, revision="next")) == 1
"""


def test_branches_and_tags(hub: Hub, env: Env) -> None:
    main = hub.create(REPO, {"a.txt": b"a"})
    python(env(), REFS)
    refs = hub.refs(REPO)
    assert sorted(refs) == ["refs/heads/main", "refs/heads/next", "refs/tags/v1"]
    assert refs["refs/heads/main"] == main
    assert refs["refs/tags/v1"] != refs["refs/heads/next"]
    assert hub.paths(REPO, "next") == hub.paths(REPO, "v1") == [".gitattributes", "a.txt", "b.txt"]


def fetch(url: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), dict(error.headers)


@pytest.mark.parametrize(
    ("wanted", "status", "part"),
    [
        ("bytes=0-3", 206, slice(0, 4)),
        ("bytes=1000-", 206, slice(1000, None)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=1020-9999", 206, slice(1020, None)),
        ("bytes=1024-", 416, slice(0, 0)),
        ("lines=1-2", 200, slice(None)),
    ],
)
@pytest.mark.parametrize("name", ["small.txt", "large.bin"])
def test_a_part_of_a_file(hub: Hub, name: str, wanted: str, status: int, part: slice) -> None:
    data = bytes(range(32, 96)) * 16
    hub.create(REPO, {name: data})
    got = fetch(f"{hub.endpoint}/{REPO}/resolve/main/{name}", Range=wanted)
    assert got[:2] == (status, data[part])


def test_head_is_get_without_the_body(hub: Hub) -> None:
    head = hub.create(REPO, {"a.txt": b"abc"})
    for path in ("api/models/owner/model", "owner/model/resolve/main/a.txt", "api/whoami-v2"):
        status, body, _ = fetch(f"{hub.endpoint}/{path}", Authorization=f"Bearer {hub.token}")
        bare = fetch(f"{hub.endpoint}/{path}", "HEAD", Authorization=f"Bearer {hub.token}")
        assert bare[:2] == (status, b"")
        assert status == 200
        assert int(bare[2]["Content-Length"]) == len(body)
    assert fetch(f"{hub.endpoint}/owner/model/resolve/main/a.txt")[2]["X-Repo-Commit"] == head


LIST = """
from huggingface_hub import HfApi
api = HfApi()
print([entry.path for entry in api.list_repo_tree("owner/model", recursive=True)])
print(len(api.list_repo_commits("owner/model")))
"""


def test_lists_come_in_pages(tmp_path: Path) -> None:
    with Hub(page_size=3) as hub:
        hub.create(REPO, {f"d/{n}.txt": b"x" for n in range(6)})
        for n in range(4):
            hub.commit(REPO, {"n.txt": b"%d" % n})
        listed, count = python(hub.env(tmp_path), LIST).splitlines()
        assert listed == str([".gitattributes", "d", *(f"d/{n}.txt" for n in range(6)), "n.txt"])
        assert count == "6"
        assert sum("/tree/" in path for _, path, _ in hub.requests) == 3


SCANS = """
from huggingface_hub import HfApi
for file in HfApi().get_paths_info("owner/model", ["a.txt", "b.txt"], expand=True):
    print(file.path, file.security and file.security.status)
"""


def test_scans_say_what_was_ordered(hub: Hub, env: Env) -> None:
    hub.create(REPO, {"a.txt": b"a", "b.txt": b"b"})
    hub.scan(REPO, "unsafe", "a.txt")
    assert python(env(), SCANS) == "a.txt unsafe\nb.txt safe\n"
    hub.scan(REPO, None)
    assert python(env(), SCANS) == "a.txt unsafe\nb.txt None\n"


def test_a_refusal_on_order_says_when_to_come_back(hub: Hub) -> None:
    hub.fault("GET /api/agent-harnesses", "status:429", times=2, retry_after=7)
    hub.fault("HEAD /api/agent-harnesses", "status:503")
    got = [fetch(f"{hub.endpoint}/api/agent-harnesses", method) for method in ("GET", "HEAD", "GET", "GET")]
    assert [(status, headers.get("Retry-After")) for status, _, headers in got] == [
        (429, "7"),
        (503, None),
        (429, "7"),
        (200, None),
    ]
    assert [line.status for line in hub.requests] == [429, 503, 429, 200]


@pytest.mark.parametrize("wrong_bit", [False, True])
def test_a_chunked_body_is_read_to_its_end(wrong_bit: bool) -> None:
    headers = Message()
    headers["Transfer-Encoding"] = "chunked"
    source = io.BytesIO(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nnext")
    body = Body(source, headers)
    body.wrong_bit = wrong_bit
    assert body.is_present
    assert body.read() == (b"`bcde" if wrong_bit else b"abcde")
    assert source.read() == b"next"
