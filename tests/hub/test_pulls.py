"""Pull requests as the client makes, changes and merges them."""

import json

import pytest

from hub import Hub, hf, python

from .conftest import Env

REPO = "owner/model"

PRELUDE = """
import json, sys
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HfHubHTTPError
api, repo = HfApi(), "owner/model"
def commit(path, data, **named):
    return api.create_commit(repo, [CommitOperationAdd(path, data)], commit_message=f"Add {path}", **named)
def refused(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except HfHubHTTPError as error:
        return error.response.status_code
"""

LIFE = (
    PRELUDE
    + """
draft = api.create_pull_request(repo, "A release")
main = api.model_info(repo).sha
made = commit("new.bin", bytes(range(256)), revision=draft.git_reference, parent_commit=main)
seen = {"draft": draft.status, "main untouched": api.model_info(repo).sha == main, "no new pull": made.pr_num}
seen["stale"] = refused(commit, "x.txt", b"x", revision=draft.git_reference, parent_commit=main)
seen["merge of a draft"] = refused(api.merge_pull_request, repo, draft.num)
api.change_discussion_status(repo, draft.num, "open")
api.comment_discussion(repo, draft.num, "looks right")
api.rename_discussion(repo, draft.num, "The release")
api.merge_pull_request(repo, draft.num, comment="go")
seen["second merge"] = refused(api.merge_pull_request, repo, draft.num)
now = api.get_discussion_details(repo, draft.num)
seen["merged"] = [now.status, now.title, now.target_branch, now.conflicting_files]
seen["head"] = now.merge_commit_oid == api.model_info(repo).sha
seen["events"] = [event.type for event in now.events]
refs = api.list_repo_refs(repo, include_pull_requests=True)
seen["refs"] = {ref.ref: ref.target_commit == made.oid for ref in refs.pull_requests}
print(json.dumps(seen))
"""
)


@pytest.mark.parametrize("xet", [pytest.param(False, id="http"), pytest.param(True, id="xet", marks=pytest.mark.xdist_group("xet"))])
def test_from_draft_to_merge(hub: Hub, env: Env, xet: bool) -> None:
    before = hub.create(REPO, {"a.txt": b"a"})
    assert json.loads(python(env(xet=xet), LIFE)) == {
        "draft": "draft",
        "main untouched": True,
        "no new pull": None,
        "stale": 412,
        "merge of a draft": 409,
        "second merge": 409,
        "merged": ["merged", "The release", "refs/heads/main", []],
        "head": True,
        "events": ["comment", "commit", "status-change", "comment", "title-change", "comment", "status-change"],
        "refs": {"refs/pr/1": True},
    }
    assert hub.history(REPO)[1] == before
    assert hub.paths(REPO) == hub.paths(REPO, "refs/pr/1") == [".gitattributes", "a.txt", "new.bin"]


PARALLEL = (
    PRELUDE
    + """
one = commit("a.txt", b"one", create_pr=True)
two = commit("a.txt", b"two", create_pr=True)
three = commit("b.txt", b"three", create_pr=True)
api.create_discussion(repo, "A question")
api.merge_pull_request(repo, one.pr_num)
seen = {"refs": [pull.pr_revision for pull in (one, two, three)]}
seen["conflicts"] = {n: api.get_discussion_details(repo, n).conflicting_files for n in (2, 3)}
seen["merge"] = refused(api.merge_pull_request, repo, 2)
api.change_discussion_status(repo, 2, "closed")
api.merge_pull_request(repo, 3)
seen["status"] = {item.num: item.status for item in api.get_repo_discussions(repo)}
seen["pulls"] = [item.num for item in api.get_repo_discussions(repo, discussion_type="pull_request")]
seen["open"] = [item.num for item in api.get_repo_discussions(repo, discussion_status="open")]
seen["missing"] = refused(api.get_discussion_details, repo, 9)
seen["no branch"] = refused(commit, "x.txt", b"x", revision="absent", create_pr=True)
print(json.dumps(seen))
"""
)


def test_two_pulls_that_change_the_same_file(hub: Hub, env: Env) -> None:
    hub.create(REPO, {"a.txt": b"a"})
    assert json.loads(python(env(), PARALLEL)) == {
        "refs": ["refs/pr/1", "refs/pr/2", "refs/pr/3"],
        "conflicts": {"2": ["a.txt"], "3": []},
        "merge": 409,
        "status": {"4": "open", "3": "merged", "2": "closed", "1": "merged"},
        "pulls": [3, 2, 1],
        "open": [4],
        "missing": 404,
        "no branch": 404,
    }
    assert hub.read(REPO, "a.txt") == b"one"
    assert hub.read(REPO, "b.txt") == b"three"
    assert hub.paths(REPO, "refs/pr/3") == hub.paths(REPO)
    assert hub.read(REPO, "a.txt", "refs/pr/3") != hub.read(REPO, "a.txt")


def test_the_command_line_merges(hub: Hub, env: Env) -> None:
    hub.create(REPO, {"a.txt": b"a"})
    here = env()
    made = hf(here, "discussions", "create", REPO, "--title", "A release", "--pull-request")
    assert made.returncode == 0, made.stderr
    refused = hf(here, "discussions", "merge", REPO, "1", "--yes")
    assert refused.returncode == 1
    assert "draft" in refused.stderr
    assert hf(here, "discussions", "reopen", REPO, "1", "--yes").returncode == 0
    assert hf(here, "discussions", "merge", REPO, "1", "--yes").returncode == 0
    assert "merged" in hf(here, "discussions", "info", REPO, "1").stdout


@pytest.mark.xdist_group("xet")
def test_an_upload_by_xet_leaves_a_draft(hub: Hub, env: Env) -> None:
    hub.create(REPO, {"a.txt": b"a"})
    program = (
        PRELUDE
        + """
import pathlib
folder = pathlib.Path(sys.argv[1]); folder.mkdir(); (folder / "b.bin").write_bytes(bytes(range(256)))
info = api.upload_folder(repo_id=repo, folder_path=folder, create_pr=True)
print(info.pr_num, api.get_discussion_details(repo, info.pr_num).status)
"""
    )
    here = env(xet=True)
    assert python(here, program, here["HOME"] + "/up") == "1 draft\n"
