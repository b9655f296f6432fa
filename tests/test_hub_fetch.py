"""From a lock to a release over a Hub: only the pinned bytes count, and whatever fails outside leaves nothing half done."""

import os
import re
import shutil
import socket
from pathlib import Path
from unittest import mock

import pytest
import tiny_upstream
from hub import Hub
from project import UPSTREAM, Ended, Project, project, tree

from hubrelease.outside import network_is_off

pytestmark = pytest.mark.heavy  # seconds each

SHARD = tiny_upstream.SHARDS[0]


def modes(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o7777 for path in folder.rglob("*")}


def refused(ended: Ended, hub: Hub, author: Project) -> dict[str, str]:
    """The one problem of a command that failed outside: said plainly, with a mend and without the token."""
    assert ended.code == 3, ended.said
    found = ended.only()
    assert all(found[key] for key in ("message", "mend", "file"))
    assert hub.token not in ended.said
    assert not re.search("traceback", ended.said, re.IGNORECASE)
    assert not author.out.exists()
    return found


def test_a_release_is_the_same_bytes_wherever_and_whenever_it_is_built(hub: Hub, author: Project, tmp_path: Path) -> None:
    author.pin().good()
    author.build("--locked").good()
    author.near.run("verify", author.out).good()
    moved = Project(tmp_path / "elsewhere" / "deep" / "project", author.env)
    shutil.copytree(author.folder, moved.folder)
    hub.commit(UPSTREAM, {"config.json": b"{}\n"})
    asked = len(hub.requests)
    for arguments, env, umask in ((["--offline"], {}, 0o077), ([], {"HF_HUB_OFFLINE": "1"}, 0)):
        out = moved.folder.parent / f"out {umask}"
        moved.run("build", ".", "--out", out, *arguments, cwd=moved.folder, umask=umask, **env).good()
        assert tree(out) == tree(author.out)
        assert modes(out) == modes(author.out)
    assert set(modes(author.out).values()) == {0o644, 0o755}
    assert len(hub.requests) == asked


def test_offline_without_the_files_says_what_is_needed(hub: Hub, author: Project, tmp_path: Path) -> None:
    author.pin().good()
    author.env["HF_HOME"] = str(tmp_path / "empty")
    asked = len(hub.requests)
    assert refused(author.build(HF_HUB_OFFLINE="1"), hub, author)["kind"] == "offline"
    author.lock_file.unlink()
    assert refused(author.pin("--offline"), hub, author)["kind"] == "offline"
    assert len(hub.requests) == asked


@pytest.mark.parametrize(("path", "when"), [(SHARD, "build"), ("config.json", "pin"), ("config.json", "build")])
def test_wrong_bytes_of_the_right_size_are_refused_by_name(hub: Hub, author: Project, tmp_path: Path, path: str, when: str) -> None:
    if when == "build":
        author.pin().good()
        author.env["HF_HOME"] = str(tmp_path / "fresh")
    wanted = r"GET /objects/" if path == SHARD else r"GET .*/resolve/.*/config\.json"
    if path == SHARD:
        sha256 = next(f["sha256"] for f in author.locked()["files"] if f["path"] == SHARD)
        wanted += f".*{sha256}"
    hub.fault(wanted, "wrong-bytes")
    run = author.pin if when == "pin" else author.build
    found = refused(run(), hub, author)
    assert found["kind"] == "source-changed"
    assert path in found["file"]
    assert author.lock_file.exists() == (when == "build")
    # The damaged copy stays in the client's cache: the mend names it, and without it all is well.
    os.unlink(re.search(r"remove (\S+)", found["mend"])[1])  # type: ignore[index]
    author.build().good()
    author.near.run("verify", author.out).good()


def test_wrong_bytes_leave_the_release_that_is_there(hub: Hub, author: Project) -> None:
    author.build().good()
    before = tree(author.out)
    hub.commit(UPSTREAM, tiny_upstream.weights("new"))
    author.pin("--update", "base_model").good()
    hub.fault("GET /objects/", "wrong-bytes", times=2)
    assert author.build().code == 3
    assert tree(author.out) == before
    author.near.run("verify", author.out).good()


def test_the_pinned_commit_is_built_whatever_the_branch_does(hub: Hub, author: Project, tmp_path: Path) -> None:
    author.pin().good()
    hub.commit(UPSTREAM, tiny_upstream.weights("new") | {"config.json": b"{}\n"}, deletes=["chat_template.jinja"])
    author.env["HF_HOME"] = str(tmp_path / "fresh")
    author.build("--locked").good()
    built = tree(author.out)
    for path, data in tiny_upstream.base().items():
        assert path == "README.md" or built[path] == data


def test_what_fails_once_is_tried_again(hub: Hub, author: Project) -> None:
    faults = [
        hub.fault("GET /api/models/.*/revision/", "status:429", retry_after=1),
        hub.fault("GET /api/models/.*/tree/", "cut"),
        hub.fault("GET .*/resolve/.*/config.json", "status:503"),
        hub.fault("GET .*/resolve/.*/LICENSE", "cut"),
        hub.fault("GET /objects/", "status:503", times=2),
        hub.fault("GET /objects/", "cut", nth=4),
    ]
    author.build().good()
    assert [fault.match.pattern for fault in faults if not fault.struck] == []


REFUSALS = [
    pytest.param("GET /api/models/.*/revision/", "status:503", "503", id="listing 503"),
    pytest.param("GET /api/models/.*/revision/", "lost", "could not be reached", id="listing lost"),
    pytest.param("GET /api/models/.*/tree/", "status:503", "503", id="tree 503"),
    pytest.param("GET /api/models/.*/tree/", "status:403", "403", id="tree 403"),
    pytest.param("HEAD .*/resolve/.*/config.json", "status:401", "401", id="small file 401"),
    pytest.param("GET .*/resolve/.*/config.json", "status:404", "404", id="small file 404"),
    pytest.param("GET /objects/", "status:503", "503", id="large file 503"),
    pytest.param("GET /objects/", "cut", "could not be reached", id="large file cut"),
]


@pytest.mark.parametrize(("match", "do", "says"), REFUSALS)
def test_what_keeps_failing_is_one_clear_problem(hub: Hub, author: Project, match: str, do: str, says: str) -> None:
    if "objects" in match:
        author.pin().good()
    hub.fault(match, do, times=1000)
    found = refused(author.build(), hub, author)
    assert found["kind"] == "source-unreachable"
    assert says in found["message"]
    assert author.lock_file.exists() == ("objects" in match)
    if "40" in says:
        assert "later" not in found["mend"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"hf": "upstream/none"}, "does not exist"),
        ({"hf": UPSTREAM, "revision": "none"}, 'no revision "none"'),
        ({"hf": UPSTREAM, "revision": "0" * 40}, "no revision"),
    ],
)
def test_what_is_not_on_the_hub_is_named(hub: Hub, author: Project, source: dict[str, str], says: str) -> None:
    found = refused(author.sources(base_model=source).pin(), hub, author)
    assert says in found["message"]
    assert source["hf"] in found["file"]


def test_a_file_that_upstream_took_away_is_named(hub: Hub, author: Project) -> None:
    author.pin().good()
    hub.fault(f"HEAD .*/resolve/.*/{SHARD}", "status:404", times=1000)
    assert SHARD in refused(author.build(), hub, author)["file"]


def test_a_wrong_token_is_refused_and_not_shown(hub: Hub, author: Project) -> None:
    found = refused(author.pin(HF_TOKEN="hf_neverShowThis"), hub, author)
    assert "hf auth login" in found["mend"]
    assert "neverShowThis" not in str(found)


@pytest.fixture
def nowhere() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


def test_nobody_at_the_address_is_one_clear_problem(hub: Hub, author: Project, nowhere: str) -> None:
    assert "could not be reached" in refused(author.pin(HF_ENDPOINT=nowhere), hub, author)["message"]


@pytest.mark.heavy
def test_a_server_that_says_nothing_is_not_waited_for_without_end(hub: Hub, author: Project) -> None:
    """The client's own calls have no timeout."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "timed out" in refused(author.pin(HF_ENDPOINT=endpoint, HF_HUB_ETAG_TIMEOUT="1"), hub, author)["message"]
    hub.fault("GET /api/models/.*/tree/", "delay:6", times=1000)
    assert "timed out" in refused(author.pin(HF_HUB_ETAG_TIMEOUT="1"), hub, author)["message"]


@pytest.mark.heavy
@pytest.mark.parametrize("what", ["nobody", "small file"])
def test_what_the_client_itself_repeats_for_half_a_minute(hub: Hub, author: Project, nowhere: str, what: str) -> None:
    if what == "nobody":
        author.pin().good()
        assert "could not be reached" in refused(author.build(HF_ENDPOINT=nowhere), hub, author)["message"]
    else:
        hub.fault("HEAD .*/resolve/.*/config.json", "status:503", times=1000)
        assert "503" in refused(author.pin(), hub, author)["message"]


@pytest.mark.parametrize(
    ("env", "off"),
    [
        ({}, False),
        ({"HF_HUB_OFFLINE": "1"}, True),
        ({"HF_HUB_OFFLINE": "yes"}, True),
        ({"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "1"}, False),
        ({"TRANSFORMERS_OFFLINE": "true"}, True),
    ],
)
def test_the_network_is_off_when_the_hub_s_client_takes_it_for_off(env: dict[str, str], off: bool) -> None:
    with mock.patch.dict(os.environ, env, clear=True):
        assert network_is_off() == off


@pytest.mark.parametrize("answer", [b"<html>Please log in to the wireless network</html>", b"{}"])
def test_a_page_of_something_else_is_not_taken_for_a_hub(hub: Hub, author: Project, answer: bytes) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    class Portal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Portal) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        found = refused(author.pin(HF_ENDPOINT=f"http://127.0.0.1:{server.server_port}"), hub, author)
        server.shutdown()
    assert found["kind"] == "source-unreachable"
    assert "HF_ENDPOINT" in found["mend"]


def test_a_cache_that_can_t_be_written_is_the_disk_s_fault(hub: Hub, author: Project, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    found = refused(author.pin(HF_HOME=str(tmp_path / "file" / "hf")), hub, author)
    assert found["kind"] == "disk-fault"
    assert "HF_HOME" in found["mend"]


def test_two_projects_may_share_a_cache(hub: Hub, author: Project, tmp_path: Path) -> None:
    author.build().good()
    other = project(tmp_path / "other", author.env)
    asked = len(hub.requests)
    other.build().good()
    fetched = [path for method, path, _ in hub.requests[asked:] if method == "GET" and ("/resolve/" in path or "/objects/" in path)]
    assert fetched == []
    assert tree(other.out) == tree(author.out)
