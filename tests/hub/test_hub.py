"""The real client against the local Hub, by plain HTTP and by Xet: what goes up comes back, and refusals are named."""

import hashlib
import json
import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hub import Hub, hf, python

from .conftest import Env

REPO = "owner/model"
CARD = b"---\nlicense: mit\n---\n# A card\n"
xet_alone = pytest.mark.xdist_group("xet")


def tensor_file(size: int) -> bytes:
    """A well-formed safetensors file of one tensor of random bytes."""
    head = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(head)) + head + random.Random(size).randbytes(size)


FILES = {
    "README.md": CARD,
    "config.json": b'{"model_type": "tiny"}\n',
    "empty.txt": b"",
    "model.safetensors": tensor_file(30_000_000),
    "runtime/serve.py": b"print('serve')\n",
}


def write_files(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def read_files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@dataclass
class Published:
    """A Hub to which `hf` has uploaded FILES, changed one and uploaded again."""

    hub: Hub
    env: dict[str, str]
    xet: bool
    first: str
    head: str

    @property
    def files(self) -> dict[str, bytes]:
        return FILES | {"config.json": b"{}\n", ".gitattributes": self.hub.read(REPO, ".gitattributes")}


@pytest.fixture(scope="module", params=[pytest.param(False, id="http"), pytest.param(True, id="xet", marks=xet_alone)])
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folder = tmp_path_factory.mktemp("release")
    release = write_files(folder / "files", FILES)
    with Hub() as hub:
        env = hub.env(folder / "home", xet=request.param)

        def upload() -> str:
            done = hf(env, "upload", REPO, release, ".", "--json")
            assert done.returncode == 0, done.stderr
            return str(json.loads(done.stdout)["url"].rpartition("/")[2])

        assert hf(env, "repos", "create", REPO).returncode == 0
        first = upload()
        assert upload() == first == hub.head(REPO)
        (release / "config.json").write_bytes(b"{}\n")
        yield Published(hub, env, request.param, first, upload())


def test_creating_twice(published: Published) -> None:
    refused = hf(published.env, "repos", "create", REPO)
    assert refused.returncode == 1
    assert "already created" in refused.stderr
    assert hf(published.env, "repos", "create", REPO, "--exist-ok").returncode == 0


def test_one_commit_an_upload_and_none_without_a_change(published: Published) -> None:
    history = published.hub.history(REPO)
    assert history[:2] == [published.head, published.first]
    assert len(history) == 3


def test_large_files_go_the_way_that_was_asked_for(published: Published) -> None:
    calls = {(method, path.split("/")[1]) for method, path, _ in published.hub.requests}
    tokens = [path for _, path, _ in published.hub.requests if "xet-write-token" in path]
    assert bool(tokens) == published.xet
    assert (("PUT", "objects") in calls) == (not published.xet)


DESCRIBE = """
import json, sys
from huggingface_hub import HfApi
api, repo, rev = HfApi(), *sys.argv[1:]
def describe(file):
    lfs = file.lfs and [file.lfs.sha256, file.lfs.size]
    return {"size": file.size, "blob": file.blob_id, "lfs": lfs}
info = api.model_info(repo, revision=rev, files_metadata=True, securityStatus=True)
tree = list(api.list_repo_tree(repo, recursive=True, revision=rev, expand=True))
files = [entry for entry in tree if hasattr(entry, "blob_id")]
some = api.get_paths_info(repo, ["model.safetensors", "README.md", "absent"], revision=rev)
refs = api.list_repo_refs(repo)
print(json.dumps({
    "sha": info.sha, "scan": info.security_repo_status, "commits": [c.commit_id for c in api.list_repo_commits(repo)],
    "info": {file.rfilename: describe(file) for file in info.siblings},
    "tree": {file.path: describe(file) for file in files},
    "folders": [entry.path for entry in tree if not hasattr(entry, "blob_id")],
    "changed": {file.path: file.last_commit.oid for file in files},
    "safe": all(file.security.safe for file in files),
    "some": {file.path: describe(file) for file in some},
    "xet": [file.path for file in files if file.xet_hash],
    "branches": {ref.name: ref.target_commit for ref in refs.branches},
    "tensors": sum(api.get_safetensors_metadata(repo, revision=rev).parameter_count.values()),
}))
"""


def git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def test_every_file_can_be_checked_without_a_download(published: Published) -> None:
    seen = json.loads(python(published.env, DESCRIBE, REPO, published.head))
    assert seen["sha"] == published.head == seen["branches"]["main"]
    assert seen["commits"] == published.hub.history(REPO)
    assert seen["info"] == seen["tree"]
    assert seen["tree"].keys() == published.files.keys()
    for path, data in published.files.items():
        is_large = path == "model.safetensors"
        assert seen["tree"][path]["size"] == len(data)
        assert seen["tree"][path]["lfs"] == ([hashlib.sha256(data).hexdigest(), len(data)] if is_large else None)
        assert is_large or seen["tree"][path]["blob"] == git_blob(data)
    assert seen["some"] == {path: seen["tree"][path] for path in ("README.md", "model.safetensors")}
    assert seen["folders"] == ["runtime"]
    assert seen["changed"]["config.json"] == published.head
    assert seen["changed"]["README.md"] == published.first
    assert seen["safe"]
    assert seen["scan"] == {"scansDone": True, "filesWithIssues": []}
    assert seen["xet"] == (["model.safetensors"] if published.xet else [])
    assert seen["tensors"] == 30_000_000


def test_the_same_bytes_come_back_to_a_folder(published: Published, tmp_path: Path) -> None:
    at: list[str | Path] = ["--revision", published.head, "--local-dir", tmp_path]
    assert hf(published.env, "download", REPO, *at).returncode == 0
    assert read_files(tmp_path) == published.files
    strict: list[str | Path] = ["cache", "verify", REPO, *at, "--fail-on-missing-files", "--fail-on-extra-files"]
    assert hf(published.env, *strict).returncode == 0
    data = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert hf(published.env, *strict).returncode == 1


def test_the_same_bytes_come_back_to_the_cache(published: Published) -> None:
    done = hf(published.env, "download", REPO, "--revision", published.first, "--quiet")
    assert done.returncode == 0, done.stderr
    assert read_files(Path(done.stdout.strip())) == published.files | {"config.json": FILES["config.json"]}
    assert hf(published.env, "cache", "verify", REPO, "--revision", published.first).returncode == 0


def test_a_tag_stays_where_it_was_put(published: Published) -> None:
    tag = ["repos", "tag", "create", REPO, "v1", "--revision", published.first]
    assert hf(published.env, *tag).returncode == 0
    assert published.hub.refs(REPO)["refs/tags/v1"] == published.first
    again = hf(published.env, *tag[:-1], published.head)
    assert again.returncode == 1
    assert "already exists" in again.stderr
    assert published.hub.refs(REPO)["refs/tags/v1"] == published.first


def test_the_token_stays_on_the_hub(published: Published) -> None:
    assert published.hub.leaks == []


STALE = """
import sys
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HfHubHTTPError
try:
    HfApi().create_commit(
        sys.argv[1], [CommitOperationAdd("new.bin", bytes(range(256)))], commit_message="x", parent_commit=sys.argv[2]
    )
except HfHubHTTPError as error:
    print(error.response.status_code)
"""


def test_a_stale_parent_is_refused(published: Published) -> None:
    assert python(published.env, STALE, REPO, published.first) == "412\n"
    assert published.hub.head(REPO) == published.head


@xet_alone
def test_what_came_by_xet_can_be_read_by_plain_http(hub: Hub, env: Env, tmp_path: Path) -> None:
    files = {"a.bin": random.Random(1).randbytes(300_000)}
    assert hf(env(xet=True), "upload", REPO, write_files(tmp_path / "a", files), ".").returncode == 0
    assert hf(env(), "download", REPO, "a.bin", "--local-dir", tmp_path / "b").returncode == 0
    assert read_files(tmp_path / "b") == files
    assert hub.read(REPO, "a.bin") == files["a.bin"]


def test_an_object_that_is_there_is_not_sent_again(hub: Hub, env: Env, tmp_path: Path) -> None:
    hub.create(REPO, {"a.bin": bytes(range(256))})
    shutil.copytree(write_files(tmp_path / "a", {"b.bin": bytes(range(256))}), tmp_path / "b")
    assert hf(env(), "upload", REPO, tmp_path / "b", ".").returncode == 0
    assert [path for method, path, _ in hub.requests if method == "PUT"] == []
    assert hub.read(REPO, "b.bin") == bytes(range(256))


def test_what_gitignore_names_is_left_out_without_a_word(hub: Hub, env: Env, tmp_path: Path) -> None:
    files = {".gitignore": b"*.log\nbuild/\n", "a.log": b"x", "build/b": b"x", "src/build.py": b"x"}
    assert hf(env(), "upload", REPO, write_files(tmp_path / "a", files), ".").returncode == 0
    assert hub.paths(REPO) == [".gitattributes", ".gitignore", "src/build.py"]


def test_offline_only_the_cache_is_read(hub: Hub, env: Env) -> None:
    head = hub.create(REPO, {"a.txt": b"a"})
    assert hf(env("kept"), "download", REPO, "--revision", head).returncode == 0
    count = len(hub.requests)
    assert hf(env("kept", offline=True), "download", REPO, "--revision", head).returncode == 0
    assert hf(env("other", offline=True), "download", REPO, "--revision", head).returncode == 1
    assert len(hub.requests) == count
