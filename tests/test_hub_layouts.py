"""A release that went to a Hub and came back is good in every form in which the Hub's own client, or git, lays it down.

With Xet on the client keeps files by Xet hash in a folder that models share and links twice; without it links once; with
HF_HUB_DISABLE_SYMLINKS it copies. Each is also the layout from which a base is read when a release is built.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
import tiny
import tiny_upstream
from hub import Hub, hf
from project import UPSTREAM, Project, project, tree
from verifying import as_nobody, both, public_folder

pytestmark = pytest.mark.heavy  # seconds each

REPO = "owner/tiny-release"
ALONE = pytest.mark.xdist_group("xet")
TOGETHER = pytest.mark.xdist_group("http layouts")  # one Hub for all of them
FORMS = [
    pytest.param(False, {}, 1, id="http", marks=TOGETHER),
    pytest.param(False, {"HF_HUB_DISABLE_SYMLINKS": "1"}, 0, id="http-copies", marks=TOGETHER),
    pytest.param(True, {}, 2, id="xet", marks=ALONE),
    pytest.param(True, {"HF_HUB_DISABLE_SHARED_BLOBS": "1"}, 1, id="xet-own-blobs", marks=ALONE),
    pytest.param(True, {"HF_HUB_DISABLE_SYMLINKS": "1"}, 0, id="xet-copies", marks=ALONE),
]


@dataclass
class Published:
    """A Hub to which `hf` uploaded a base and the release that was built from it."""

    hub: Hub
    author: Project
    xet: bool
    head: str

    def env(self, home: Path, **settings: str) -> dict[str, str]:
        return {**self.hub.env(home, xet=self.xet), "XDG_CACHE_HOME": str(home / "cache"), **settings}


def upload(env: dict[str, str], repo: str, folder: Path) -> str:
    done = hf(env, "upload", repo, folder, ".", "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["url"].rpartition("/")[2])


def published(folder: Path, xet: bool) -> Iterator[Published]:
    with Hub(large_bytes=tiny_upstream.LARGE_BYTES) as hub:
        env = hub.env(folder / "home", xet=xet)
        upload(env, UPSTREAM, tiny.write(folder / "base", tiny_upstream.base()))
        author = project(folder, env)
        author.build().good()
        hub.large_bytes = 10 << 20  # the real Hub's: MODEL_PROVENANCE.json is a regular file
        yield Published(hub, author, xet, upload(env, REPO, author.out))


@pytest.fixture(scope="module")
def by_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    yield from published(tmp_path_factory.mktemp("http"), False)


@pytest.fixture(scope="module")
def by_xet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    yield from published(tmp_path_factory.mktemp("xet"), True)


@pytest.fixture
def there(request: pytest.FixtureRequest, xet: bool) -> Published:
    found: Published = request.getfixturevalue("by_xet" if xet else "by_http")
    return found


def assert_good(folder: Path, env: dict[str, str]) -> None:
    """Both verifiers, in this process and as their users start them; verifying needs no network."""
    with mock.patch.dict(os.environ, env | {"HF_HUB_OFFLINE": "1"}):
        assert both(folder).code == 0
    done = subprocess.run([sys.executable, "-I", "runtime/verify_release.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def hops(file: Path) -> int:
    """How many links lead from a name to its bytes."""
    count = 0
    while file.is_symlink():
        file, count = file.parent / os.readlink(file), count + 1
    return count


@pytest.mark.parametrize(("xet", "settings", "links"), FORMS)
def test_a_download_into_the_cache(there: Published, settings: dict[str, str], links: int, tmp_path: Path) -> None:
    env = there.env(tmp_path / "reader", **settings)
    done = hf(env, "download", REPO, "--revision", there.head, "--quiet")
    assert done.returncode == 0, done.stderr
    snapshot = Path(done.stdout.strip())
    assert hops(snapshot / tiny_upstream.SHARDS[0]) == links
    assert_good(snapshot, env)
    blob = Path(os.path.realpath(snapshot / tiny_upstream.SHARDS[0]))
    blob.chmod(0o644)
    blob.write_bytes(blob.read_bytes()[:-1] + b"\1")
    assert both(snapshot).errors == {("hash-mismatch", tiny_upstream.SHARDS[0])}


@pytest.mark.parametrize(("xet", "settings", "links"), FORMS)
def test_a_build_from_the_cache(there: Published, settings: dict[str, str], links: int, tmp_path: Path) -> None:
    other = Project(tmp_path / "project", there.env(tmp_path / "author", **settings))
    shutil.copytree(there.author.folder, other.folder)
    other.build("--locked").good()
    assert tree(other.out) == tree(there.author.out)
    snapshot = tmp_path / "author" / "hf" / "hub" / "models--upstream--tiny" / "snapshots" / there.author.locked()["gitCommit"]
    assert hops(snapshot / tiny_upstream.SHARDS[0]) == links


@pytest.mark.parametrize("xet", [pytest.param(False, marks=TOGETHER), pytest.param(True, marks=ALONE)])
def test_a_download_into_a_folder(there: Published, tmp_path: Path) -> None:
    env = there.env(tmp_path / "reader")
    folder = tmp_path / "model"
    assert hf(env, "download", REPO, "--local-dir", folder).returncode == 0
    assert (folder / ".cache" / "huggingface").is_dir()
    assert_good(folder, env)


@pytest.mark.parametrize("xet", [pytest.param(False, marks=TOGETHER), pytest.param(True, marks=ALONE)])
def test_a_git_clone_with_pointers_and_with_the_files_in_their_place(there: Published, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    served = there.hub.repos[REPO].folder
    subprocess.run(["git", "clone", "--quiet", f"file://{served}", clone], check=True)
    large = {path for path in there.hub.paths(REPO) if (clone / path).read_bytes() != there.hub.read(REPO, path)}
    assert set(tiny_upstream.SHARDS) <= large
    pointers = both(clone)
    assert pointers.code == 3
    assert pointers.errors == {("lfs-pointer", path) for path in large}
    assert {finding["mend"] for finding in pointers.findings} == {"run git lfs pull"}
    for path in large:
        (clone / path).write_bytes(there.hub.read(REPO, path))
    assert_good(clone, there.env(tmp_path / "reader"))


@TOGETHER
def test_a_partial_download(by_http: Published, tmp_path: Path) -> None:
    some = ["MODEL_PROVENANCE.json", "config.json", "runtime/verify_release.py", tiny_upstream.SHARDS[0]]
    done = hf(by_http.env(tmp_path / "reader"), "download", REPO, *some, "--local-dir", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    partial = both(tmp_path / "model")
    assert partial.code == 3
    assert [finding["kind"] for finding in partial.findings] == ["partial-download"]
    assert f"3 of {len(tree(by_http.author.out)) - 1} files" in partial.findings[0]["message"]


@TOGETHER
def test_a_cache_that_its_reader_may_not_write_to(by_http: Published) -> None:
    with public_folder() as public:
        done = hf(by_http.env(public / "reader"), "download", REPO, "--revision", by_http.head, "--quiet")
        assert done.returncode == 0, done.stderr
        for path in public.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o555 if path.is_dir() else 0o444)
        before = sorted(public.rglob("*"))
        with as_nobody():
            assert both(done.stdout.strip()).code == 0
        assert sorted(public.rglob("*")) == before


@ALONE
def test_a_store_that_lost_a_file_is_one_clear_problem(by_xet: Published, tmp_path: Path) -> None:
    other = Project(tmp_path / "project", by_xet.env(tmp_path / "author"))
    shutil.copytree(by_xet.author.folder, other.folder)
    store = by_xet.hub.root / "xet" / UPSTREAM
    store.rename(tmp_path / "lost")
    try:
        refused = other.build("--locked")
    finally:
        shutil.rmtree(store, ignore_errors=True)
        (tmp_path / "lost").rename(store)
    assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")
    assert ".safetensors" in refused.only()["file"] or "tokenizer.json" in refused.only()["file"]
    assert not other.out.exists()
