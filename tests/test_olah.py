"""Through a server that nobody here wrote: olah (PyPI, MIT), in an environment of its own.

As a mirror in front of the local Hub it reads a release back; as a server of a plain git repository it is an upstream to
pin. It is read-only and answers less than the real Hub, which was not used, here or in CI.
"""

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny
import tiny_upstream
from hub import Hub, hf
from project import UPSTREAM, Project, project, run, tree
from verifying import both

pytestmark = [pytest.mark.heavy, pytest.mark.xdist_group("olah")]
REPO = "owner/tiny-release"
CONFIG = """
[basic]
host = "127.0.0.1"
port = {port}
hf-scheme = "http"
hf-netloc = "{upstream}"
hf-lfs-netloc = "{store}"
mirror-scheme = "http"
mirror-netloc = "127.0.0.1:{port}"
mirror-lfs-netloc = "127.0.0.1:{port}"
repos-path = "{folder}/repos"
mirrors-path = [{mirrors}]
[accessibility]
offline = {offline}
"""


@pytest.fixture(scope="module")
def olah(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("olah") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "olah==0.5.4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"olah can't be installed here: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin" / "olah-cli"


@contextmanager
def serving(olah: Path, folder: Path, *, hub: Hub | None = None, mirrors: Path | None = None) -> Iterator[str]:
    """The address of a running olah: a mirror of `hub`, or a server of the repositories under `mirrors`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir()
    netloc, store = (hub.endpoint.removeprefix("http://"), hub.store_url.removeprefix("http://")) if hub else ("127.0.0.1:9", "127.0.0.1:9")
    listed = f'"{mirrors}"' if mirrors else ""
    text = CONFIG.format(port=port, upstream=netloc, store=store, folder=folder, mirrors=listed, offline=str(hub is None).lower())
    (folder / "olah.toml").write_text(text)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_PROXY": "127.0.0.1,localhost"}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [olah, "--config", folder / "olah.toml", "--log-path", folder / "logs"], cwd=folder, env=env, stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/", server, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        assert server.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_a_release_read_back_through_another_server(olah: Path, hub: Hub, author: Project, tmp_path: Path) -> None:
    author.build().good()
    done = hf(author.env, "upload", REPO, author.out, ".", "--json")
    assert done.returncode == 0, done.stderr
    head = json.loads(done.stdout)["url"].rpartition("/")[2]
    with serving(olah, tmp_path / "olah", hub=hub) as endpoint:
        env = {**hub.env(tmp_path / "reader", token=None), "HF_ENDPOINT": endpoint}
        done = hf(env, "download", REPO, "--revision", head, "--quiet")
        assert done.returncode == 0, done.stderr
        assert both(done.stdout.strip()).code == 0
        done = hf(env, "download", REPO, "--local-dir", tmp_path / "model")
        assert done.returncode == 0, done.stderr
        run(env, "verify", tmp_path / "model").good()
        other = project(tmp_path / "other", env)
        other.build().good()
    assert other.lock_file.read_bytes() == author.lock_file.read_bytes()
    assert tree(other.out) == tree(author.out)


def test_a_plain_git_repository_behind_another_server_is_pinned_by_git_s_own_ids(olah: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mirrors" / "models" / UPSTREAM
    files = tiny_upstream.base()
    pointers = {}
    for path in tiny_upstream.SHARDS:
        sha256 = hashlib.sha256(files[path]).hexdigest()
        pointers[path] = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(files[path])}\n".encode()
        tiny.write(folder / ".git" / "lfs" / "objects", {f"{sha256[:2]}/{sha256[2:4]}/{sha256}": files[path]})
    tiny.write(folder, {**files, **pointers})
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    with Hub() as hub, serving(olah, tmp_path / "olah", mirrors=tmp_path / "mirrors") as endpoint:
        author = project(tmp_path, {**hub.env(tmp_path / "home", token=None), "HF_ENDPOINT": endpoint})
        author.sources(base_model={"hf": UPSTREAM, "license": "apache-2.0"}).pin().good()
        locked = author.locked()
        assert locked["gitCommit"] == commit
        assert {f["path"]: f["sha256"] for f in locked["files"]} == {p: hashlib.sha256(d).hexdigest() for p, d in files.items()}
        author.build("--locked").good()
    author.run("verify", author.out).good()
