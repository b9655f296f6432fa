"""A git repository as a source: a commit's own files, out of git's objects; nothing of the repository is run or followed."""

import hashlib
import http.server
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest
import tiny_upstream
from project import Project, project, tree

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 123456\n".encode()


@dataclass
class Repository:
    folder: Path

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def git(self, *arguments: str) -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
        done = subprocess.run(["git", "-C", str(self.folder), *settings, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, files: dict[str, bytes]) -> str:
        for path, data in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(data)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "more")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "upstream")
    made.folder.mkdir()
    made.git("init", "-q", "-b", "main")
    made.commit(tiny_upstream.base() | {"inner/a.txt": b"a\n", "inner/b.bin": bytes(range(256))})
    return made


@pytest.fixture
def author(tmp_path: Path, upstream: Repository) -> Project:
    return project(tmp_path / "work", here=True).sources(base_model={"git": upstream.url, "license": "apache-2.0"})


def paths(locked: dict[str, list[dict[str, str]]]) -> list[str]:
    return [file["path"] for file in locked["files"]]


@pytest.mark.parametrize("revision", [None, "main", "v1", "refs/tags/v1", "sha"])
def test_a_name_of_a_commit_is_pinned_as_the_commit(upstream: Repository, author: Project, revision: str | None) -> None:
    upstream.git("tag", "-a", "-m", "first", "v1")
    head = upstream.git("rev-parse", "HEAD")
    asked = {} if revision is None else {"revision": head if revision == "sha" else revision}
    author.sources(base_model={"git": upstream.url, "files": ["*.safetensors"], **asked}).pin().good()
    locked = author.locked()
    assert locked["gitCommit"] == head
    data = tiny_upstream.base()
    shards = tiny_upstream.SHARDS
    assert locked["files"] == [{"path": s, "sha256": hashlib.sha256(data[s]).hexdigest(), "sizeBytes": len(data[s])} for s in shards]


def test_the_id_of_a_tag_is_no_commit(upstream: Repository, author: Project) -> None:
    upstream.git("tag", "-a", "-m", "first", "v1")
    refused = author.sources(base_model={"git": upstream.url, "revision": upstream.git("rev-parse", "v1")}).pin()
    assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")


def test_path_and_files_choose_and_the_rest_is_listed(upstream: Repository, author: Project) -> None:
    author.sources(extra={"git": upstream.url, "path": "inner", "files": ["*.txt"]}).pin().good()
    locked = author.locked("extra")
    assert (paths(locked), locked["others"]) == (["a.txt"], ["b.bin"])


def test_a_release_from_git_is_the_commit_s_bytes(upstream: Repository, author: Project) -> None:
    author.pin().good()
    omissions = [{"path": "inner/**", "reason": "not a part of the model"}]
    author.spec(**{**author.document, "side_files": {"omit": omissions}})
    upstream.commit({"config.json": b"[]\n"})
    author.build("--locked").good()
    built, made = tree(author.out), tiny_upstream.base()
    assert {path: built.get(path) for path in made.keys() - {"README.md"}} == {p: d for p, d in made.items() if p != "README.md"}
    assert not [path for path in built if path.startswith("inner/")]
    author.run("verify", author.out).good()


def test_offline_the_clone_in_the_cache_is_enough(upstream: Repository, author: Project, tmp_path: Path) -> None:
    author.build().good()
    upstream.folder.rename(tmp_path / "gone")
    author.build("--offline", "--locked", out=tmp_path / "again").good()
    assert tree(tmp_path / "again") == tree(author.out)
    author.env["XDG_CACHE_HOME"] = str(tmp_path / "empty")
    refused = author.build("--offline", out=tmp_path / "third")
    assert (refused.code, refused.only()["kind"]) == (3, "offline")
    refused = author.build(out=tmp_path / "third")
    assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")


def test_a_moved_branch_is_listed_and_taken_when_named(upstream: Repository, author: Project) -> None:
    author.pin().good()
    before = author.locked()["gitCommit"]
    now = upstream.commit({"config.json": b"{}\n"})
    moved = [{"name": "base_model", "before": before, "after": now}]
    assert author.pin("--outdated").good().value["outdated"] == moved
    assert author.pin().good().value["changes"] == []
    assert author.pin("--update", "base_model").good().value["changes"] == moved


def test_many_files_of_a_commit_that_is_not_in_the_cache_yet(author: Project, tmp_path: Path) -> None:
    author.pin().good()
    author.env["XDG_CACHE_HOME"] = str(tmp_path / "empty")
    author.build("--jobs", "16").good()


def test_a_cache_that_can_t_be_written_is_the_disk_s_fault(author: Project, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    author.env["XDG_CACHE_HOME"] = str(tmp_path / "file")
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (3, "disk-fault")
    assert "XDG_CACHE_HOME" in refused.only()["mend"]


def test_a_fetch_that_was_killed_is_no_hindrance(author: Project) -> None:
    author.pin().good()
    (clone,) = (Path(author.env["XDG_CACHE_HOME"]) / "hubrelease" / "git").iterdir()
    shutil.rmtree(clone / "objects")
    (clone / "objects").mkdir()
    (clone / "shallow.lock").touch()
    author.build().good()


def test_damaged_objects_are_refused_and_the_clone_to_remove_is_named(upstream: Repository, author: Project) -> None:
    author.pin().good()
    (clone,) = (Path(author.env["XDG_CACHE_HOME"]) / "hubrelease" / "git").iterdir()
    blob = upstream.git("rev-parse", "HEAD:config.json")
    loose = clone / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(loose.read_bytes()[:20])
    refused = author.build()
    assert refused.code == 3
    assert all(str(clone) in p["mend"] for p in refused.problems)
    assert not author.out.exists()
    shutil.rmtree(clone)
    author.build().good()


def test_nothing_of_the_repository_is_run_linked_or_entered(upstream: Repository, author: Project, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "submodule")
    inner.folder.mkdir()
    inner.git("init", "-q", "-b", "main")
    inner.commit({"inside.txt": b"x"})
    upstream.git("submodule", "--quiet", "add", inner.url, "module")
    trap = tmp_path / "ran"
    (upstream.folder / "outside").symlink_to("/etc/passwd")
    upstream.commit({
        ".gitattributes": b"*.txt filter=trap text eol=crlf\n*.bin export-ignore\n",
        "inner/kept.txt": b"one\ntwo\n",
    })  # fmt: skip
    for hook in ("post-checkout", "pre-receive", "post-update", "reference-transaction"):
        script = upstream.folder / ".git" / "hooks" / hook
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {trap}\n")
        script.chmod(0o755)
    upstream.git("config", "filter.trap.smudge", f"touch {trap}")
    upstream.git("config", "uploadpack.packObjectsHook", f"touch {trap}; git pack-objects")
    author.sources(extra={"git": upstream.url}).pin().good()
    locked = author.locked("extra")
    assert {"inner/kept.txt", "inner/b.bin"} <= set(paths(locked))
    assert locked["others"] == ["module", "outside"]
    kept = next(file for file in locked["files"] if file["path"] == "inner/kept.txt")
    assert kept["sha256"] == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert not trap.exists()


def test_a_link_of_the_base_is_not_lost_without_a_word(upstream: Repository, author: Project) -> None:
    (upstream.folder / "vocab.json").symlink_to("tokenizer.json")
    upstream.commit({})
    refused = author.build()
    assert refused.code == 1
    assert {(p["kind"], "vocab.json" in p["message"]) for p in refused.problems} == {("omission-undeclared", True)}


def test_a_pointer_of_git_lfs_is_refused_by_name(upstream: Repository, author: Project) -> None:
    upstream.commit({tiny_upstream.SHARDS[0]: POINTER})
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "weights-unusable")
    assert tiny_upstream.SHARDS[0] in refused.only()["file"]
    assert "git-lfs pointer" in refused.only()["message"]
    assert not author.lock_file.exists()


@pytest.mark.parametrize(
    "source",
    [
        {"revision": "--upload-pack=touch /tmp/x"},
        {"git": "ext::sh -c whoami"},
        {"git": "http://example.org/a.git"},
        {"git": "/srv/a.git"},
        {"git": "../a.git"},
        {"git": "ssh://-oProxyCommand=whoami/a"},
        {"git": "https://user:secret@example.org/a.git"},
        {"git": "https://token@example.org/a.git"},
        {"path": "../outside"},
        {"files": ["../*"]},
    ],
    ids=str,
)
def test_a_request_that_could_mean_something_else_is_a_spec_error(upstream: Repository, author: Project, source: dict[str, str]) -> None:
    refused = author.sources(base_model={"git": upstream.url, **source}).pin()
    assert refused.code == 2
    assert refused.only()["kind"] in ("source-invalid", "spec-invalid")
    assert refused.only()["line"]


@pytest.mark.parametrize(
    ("change", "says"),
    [({"revision": "none"}, 'no branch or tag "none"'), ({"revision": "0" * 40}, "0" * 40), ({"git": "file:///nowhere/at/all"}, "nowhere")],
)
def test_what_is_not_there_is_one_clear_problem(upstream: Repository, author: Project, change: dict[str, str], says: str) -> None:
    refused = author.sources(base_model={"git": upstream.url, **change}).pin()
    assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")
    assert says in refused.only()["message"] + refused.only()["file"]
    assert not author.lock_file.exists()


def test_a_hook_of_another_repository_may_run_a_build(upstream: Repository, author: Project, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other")
    other.folder.mkdir()
    other.git("init", "-q")
    before = tree(other.folder)
    author.env |= {"GIT_DIR": str(other.folder / ".git"), "GIT_WORK_TREE": str(other.folder), "GIT_INDEX_FILE": "/dev/null"}
    author.build().good()
    assert tree(other.folder) == before
    assert author.locked()["gitCommit"] == upstream.git("rev-parse", "HEAD")


def test_names_that_are_not_utf8_are_listed_but_not_taken(upstream: Repository, author: Project) -> None:
    with open(os.fsencode(upstream.folder) + b"/\xff.txt", "wb") as file:
        file.write(b"x")
    upstream.commit({})
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")
    author.sources(base_model={"git": upstream.url, "files": ["*.safetensors", "*.json"]}).pin().good()
    assert "\\xff.txt" in json.loads(author.lock_file.read_bytes())["sources"]["base_model"]["others"]


class SmartHttp(http.server.BaseHTTPRequestHandler):
    """git's own server behind HTTP, as a forge has it."""

    root = ""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        rows = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(rows.pop("Status", "200").split()[0]))
        for name, value in (rows | {"Content-Length": str(len(answer))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, format: str, *_: object) -> None:
        pass


class PlainHttp(http.server.SimpleHTTPRequestHandler):
    """Files and nothing else: no single commit can be asked for."""

    root = ""

    def translate_path(self, path: str) -> str:
        return self.root + path.partition("?")[0]

    def log_message(self, format: str, *_: object) -> None:
        pass


@pytest.mark.parametrize("server", [SmartHttp, PlainHttp])
def test_a_repository_behind_http(upstream: Repository, author: Project, server: type[SmartHttp | PlainHttp]) -> None:
    first = upstream.git("rev-parse", "HEAD")
    upstream.commit({"config.json": b"{}\n"})
    upstream.git("update-server-info")
    handler = type("Handler", (server,), {"root": str(upstream.folder.parent)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{serving.server_port}/"
        # git's own rewriting stands in for a certificate: release.yaml takes https only.
        author.env |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{here}.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://git.example.org/",
        }
        url = "https://git.example.org/upstream/.git"
        author.sources(base_model={"git": url, "revision": "main", "license": "apache-2.0"}).pin().good()
        assert author.locked()["gitCommit"] == upstream.git("rev-parse", "HEAD")
        author.sources(base_model={"git": url, "revision": first, "license": "apache-2.0"}).pin().good()
        serving.shutdown()
    assert author.locked()["gitCommit"] == first
    author.build("--offline").good()
    provenance = json.loads((author.out / "MODEL_PROVENANCE.json").read_bytes())
    (base,) = provenance["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert base["uri"] == f"git+{url}"
