"""What is stored is git: the same ids as git's own, and a repository that git itself accepts."""

import os
import subprocess
from pathlib import Path

from hub import Hub
from hub.hub import FIRST_SECOND
from hub.lfs import Pointer, decode_pointer

REPO = "owner/model"
FILES = {
    "README.md": "# Käfer\n".encode(),
    "a/b/c.txt": b"c\n",
    "a-b": b"sorted before a/\n",
    "a.txt": b"",
    "large.bin": bytes(range(256)) * 10,
}


def git(folder: Path, *arguments: str, given: bytes | None = None) -> str:
    who = {f"GIT_{role}_{part}": "owner" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    who |= {name: "owner@hub.invalid" for name in who if name.endswith("EMAIL")}
    when = f"{FIRST_SECOND + 1} +0000"
    env = {**who, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, input=given, env={"PATH": os.environ["PATH"], **env}, capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_ids_are_gits_own(hub: Hub, tmp_path: Path) -> None:
    hub.create(REPO, FILES)
    first = hub.history(REPO)[-1]
    repo = hub.repos[REPO]
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitattributes").write_bytes(hub.read(REPO, ".gitattributes"))
    git(tmp_path, "add", ".")
    tree = git(tmp_path, "write-tree")
    assert repo.commit(first).tree == tree
    assert git(tmp_path, "commit-tree", tree, "-m", "initial commit") == first
    for blob_id in repo.blobs(hub.head(REPO)).values():
        data = repo.objects.get("blob", blob_id)
        assert git(tmp_path, "hash-object", "--stdin", given=data) == blob_id


def test_git_reads_the_repository(hub: Hub) -> None:
    hub.create(REPO, FILES)
    hub.commit(REPO, {"a/b/d.txt": b"d\n"}, deletes=["a-b"])
    hub.tag(REPO, "v1")
    folder = hub.repos[REPO].folder
    assert git(folder, "fsck", "--strict", "--full") == ""
    assert git(folder, "rev-parse", "v1", "main").split() == [hub.head(REPO)] * 2
    assert git(folder, "rev-list", "main").split() == hub.history(REPO)
    assert git(folder, "ls-tree", "-r", "--name-only", "main").split() == hub.paths(REPO)
    index = git(folder, "read-tree", "main")
    assert (index, git(folder, "write-tree")) == ("", hub.repos[REPO].commit(hub.head(REPO)).tree)


def test_a_large_file_is_a_pointer_in_git(hub: Hub, tmp_path: Path) -> None:
    on_disk = tmp_path / "x.bin"
    on_disk.write_bytes(FILES["large.bin"])
    hub.create(REPO, {"a.bin": FILES["large.bin"], "b.bin": on_disk})
    repo = hub.repos[REPO]
    a, b = (repo.file_at(hub.head(REPO), path) for path in ("a.bin", "b.bin"))
    assert a.blob_id == b.blob_id
    assert repo.objects.get("blob", a.blob_id).startswith(b"version https://git-lfs.github.com/spec/v1\noid sha256:")
    assert hub.read(REPO, "a.bin") == FILES["large.bin"]


def test_a_pointer_is_read_as_it_was_written() -> None:
    pointer = Pointer("0" * 64, 12)
    assert decode_pointer(pointer.encode()) == pointer
    assert decode_pointer(b"version https://git-lfs.github.com/spec/v1\n") is None


def test_text_over_the_threshold_is_large() -> None:
    with Hub(large_bytes=100) as hub:
        hub.create(REPO, {"small.txt": b"x" * 100, "big.txt": b"x" * 101})
        kinds = {path: hub.repos[REPO].file_at(hub.head(REPO), path).pointer for path in hub.paths(REPO)}
    assert {path for path, pointer in kinds.items() if pointer} == {"big.txt"}


def test_the_same_calls_give_the_same_commits() -> None:
    heads = []
    for _ in range(2):
        with Hub() as hub:
            heads.append(hub.create(REPO, FILES))
    assert heads[0] == heads[1]
