"""Every row of the fault table: what the real client makes of it, once, and of the call repeated after it."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from hub import Hub, python

from .conftest import Env

REPO = "owner/model"
xet_alone = pytest.mark.xdist_group("xet")

# Two attempts at the same commit, in one process; an attempt is [what came of it, oid or status, pull request].
COMMIT = """
import json, pathlib, sys
from huggingface_hub import CommitOperationAdd, HfApi
path, extra = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
def attempt():
    try:
        add = [CommitOperationAdd("a.bin", path), CommitOperationAdd("a.txt", b"text")]
        made = HfApi().create_commit("owner/model", add, commit_message="Add", **extra)
        return ["done", made.oid, made.pr_num]
    except Exception as error:
        cause = "" if error.__cause__ is None else f" from {type(error.__cause__).__name__}"
        return [type(error).__name__ + cause, getattr(getattr(error, "response", None), "status_code", None), None]
print(json.dumps([attempt(), attempt()]))
"""


def attempts(env: dict[str, str], size: int = 1000, **extra: object) -> list[list[Any]]:
    path = Path(env["HOME"]) / "a.bin"
    path.write_bytes(b"\xff" + random.Random(1).randbytes(size))
    outcomes: list[list[Any]] = json.loads(python(env, COMMIT, path, json.dumps(extra)))
    return outcomes


def count(hub: Hub, method: str, part: str) -> int:
    return sum(line.method == method and part in line.path for line in hub.requests)


@pytest.mark.parametrize(
    ("match", "do"),
    [
        ("PUT /objects/", "cut"),
        ("POST .*/preupload/", "status:429"),
        ("POST .*/preupload/", "status:503"),
        ("POST .*/batch", "status:503"),
        ("POST .*/verify", "lost"),
        ("POST .*/commit/", "delay:0.3"),
    ],
)
def test_what_the_client_repeats_by_itself(hub: Hub, env: Env, match: str, do: str) -> None:
    before = hub.create(REPO)
    fault = hub.fault(match, do)
    first, again = attempts(env())
    assert fault.struck
    assert first == again == ["done", hub.head(REPO), None]
    assert hub.history(REPO) == [hub.head(REPO), before]


@pytest.mark.parametrize("do", ["cut", "status:429"])
def test_one_part_of_three(env: Env, tmp_path: Path, do: str) -> None:
    with Hub(part_bytes=400_000) as hub:
        before = hub.create(REPO)
        fault = hub.fault("PUT /objects/.*/2$", do, retry_after=0)
        first, _ = attempts(hub.env(tmp_path / "home"), size=1_000_000)
        assert fault.struck
        assert first == ["done", hub.head(REPO), None]
        assert hub.history(REPO) == [hub.head(REPO), before]
        assert count(hub, "PUT", "/objects/") == 4


def test_an_object_with_a_wrong_bit_is_not_taken(hub: Hub, env: Env) -> None:
    before = hub.create(REPO)
    hub.fault("PUT /objects/", "wrong-bytes")
    first, again = attempts(env())
    assert first == ["RuntimeError from BadRequestError", None, None]
    assert again == ["done", hub.head(REPO), None]
    assert hub.history(REPO) == [hub.head(REPO), before]


@pytest.mark.parametrize(("status", "xet"), [(429, False), (503, False), pytest.param(503, True, marks=xet_alone)])
def test_a_refused_commit_is_the_callers_to_repeat(hub: Hub, env: Env, status: int, xet: bool) -> None:
    before = hub.create(REPO)
    hub.fault("POST .*/commit/", f"status:{status}", retry_after=7)
    first, again = attempts(env(xet=xet))
    assert first == ["HfHubHTTPError from HTTPStatusError", status, None]
    assert again == ["done", hub.head(REPO), None]
    assert hub.history(REPO) == [hub.head(REPO), before]
    assert count(hub, "PUT", "/objects/") == (0 if xet else 1)


@pytest.mark.parametrize("xet", [False, pytest.param(True, marks=xet_alone)])
def test_a_commit_that_was_cut_did_not_happen(hub: Hub, env: Env, xet: bool) -> None:
    before = hub.create(REPO)
    hub.fault("POST .*/commit/", "cut")
    first, again = attempts(env(xet=xet))
    assert first[0].startswith("RemoteProtocolError")
    assert again == ["done", hub.head(REPO), None]
    assert hub.history(REPO) == [hub.head(REPO), before]
    assert count(hub, "POST", "/commit/") == 2


@pytest.mark.parametrize("xet", [False, pytest.param(True, marks=xet_alone)])
def test_a_commit_whose_answer_was_lost_did(hub: Hub, env: Env, xet: bool) -> None:
    before = hub.create(REPO)
    hub.fault("POST .*/commit/", "lost")
    first, again = attempts(env(xet=xet), parent_commit=before)
    assert first[0].startswith("RemoteProtocolError")
    assert again == ["done", hub.head(REPO), None]
    assert hub.history(REPO) == [hub.head(REPO), before]
    assert count(hub, "POST", "/commit/") == 1


def test_a_lost_answer_to_a_pull_request_makes_a_second_one(hub: Hub, env: Env) -> None:
    head = hub.create(REPO)
    hub.fault(r"POST .*/commit/main\?create_pr=1", "lost")
    first, again = attempts(env(), create_pr=True)
    assert first[0].startswith("RemoteProtocolError")
    assert again[0] == "done"
    assert again[2] == 2
    assert hub.head(REPO) == head


@xet_alone
@pytest.mark.parametrize("do", ["status:503", "status:429"])
def test_hf_xet_asks_for_its_token_again(hub: Hub, env: Env, do: str) -> None:
    hub.create(REPO)
    fault = hub.fault("GET .*/xet-write-token/", do)
    first, _ = attempts(env(xet=True))
    assert fault.struck
    assert first == ["done", hub.head(REPO), None]


MERGE = """
from huggingface_hub import CommitOperationAdd, HfApi
api, repo = HfApi(), "owner/model"
pull = api.create_commit(repo, [CommitOperationAdd("a.txt", b"a")], commit_message="Add", create_pr=True)
try:
    api.merge_pull_request(repo, pull.pr_num)
except Exception as error:
    print(type(error).__name__, api.get_discussion_details(repo, pull.pr_num).status)
"""


@pytest.mark.parametrize(("do", "status"), [("cut", "open"), ("lost", "merged")])
def test_after_a_broken_merge_the_details_tell(hub: Hub, env: Env, do: str, status: str) -> None:
    before = hub.create(REPO)
    hub.fault("POST .*/merge", do)
    assert python(env(), MERGE) == f"RemoteProtocolError {status}\n"
    assert len(hub.history(REPO)) == (2 if status == "merged" else 1)
    assert hub.history(REPO)[-1] == before


DOWNLOAD = """
import sys
from huggingface_hub import HfApi
api, folder = HfApi(), sys.argv[1]
api.snapshot_download("owner/model", revision=sys.argv[2], local_dir=folder)
checked = api.verify_repo_checksums("owner/model", local_dir=folder, revision=sys.argv[2])
print([wrong["path"] if isinstance(wrong, dict) else wrong.path for wrong in checked.mismatches])
"""


@pytest.mark.parametrize(("match", "wrong"), [("GET /objects/", "a.bin"), ("GET .*/a.txt", "a.txt")])
def test_a_wrong_bit_is_found_by_verify_only(hub: Hub, env: Env, tmp_path: Path, match: str, wrong: str) -> None:
    files = {"a.bin": bytes(range(256)), "a.txt": b"a text"}
    head = hub.create(REPO, files)
    hub.fault(match, "wrong-bytes")
    assert python(env(), DOWNLOAD, tmp_path / "out", head) == f"{[wrong]}\n"
    got = (tmp_path / "out" / wrong).read_bytes()
    differing = [a ^ b for a, b in zip(got, files[wrong], strict=True) if a != b]
    assert differing == [1]


def test_a_download_that_was_cut_starts_again(hub: Hub, env: Env, tmp_path: Path) -> None:
    data = b"\xff" + random.Random(1).randbytes(3_000_000)
    head = hub.create(REPO, {"a.bin": data})
    hub.fault("GET /objects/", "cut")
    assert python(env(), DOWNLOAD, tmp_path / "out", head) == "[]\n"
    assert (tmp_path / "out" / "a.bin").read_bytes() == data
    assert count(hub, "GET", "/objects/") == 2


def test_a_fault_strikes_where_and_as_often_as_ordered(hub: Hub) -> None:
    hub.fault("GET /x", "status:418", nth=2, times=2)
    struck = [hub.faults.strike("GET /x") for _ in range(5)]
    assert [fault is not None for fault in struck] == [False, True, True, False, False]
    with pytest.raises(ValueError, match="no fault"):
        hub.fault("GET", "explode")
