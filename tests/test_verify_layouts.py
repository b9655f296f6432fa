"""The same verdict in every layout in which a release lands (contract.md 2), and none of it for what only looks like one."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from verifying import as_nobody, both, hubrelease_verify, public_folder, within

REVISION = "0123456789abcdef0123456789abcdef01234567"
REPO = "models--example-org--tiny-llama"
GUIDE = "docs/guide.txt"
OWN_FILES = {
    ".gitignore": b"*",
    ".gitignore.lock": b"",
    "CACHEDIR.TAG": b"Signature: 8a477f597d28d172789f06886806bc55\n",
    "download/config.json.metadata": b"0123\nabcd\n1.0\n",
    "download/runtime/verify_release.py.metadata": b"0123\nabcd\n1.0\n",
    "download/runtime/verify_release.py.lock": b"",
    "upload/config.json.metadata": b"0123\n",
    f"trees/{REVISION}.json": b"[]",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tiny.release(tmp_path / "release")


def snapshot(cache: Path, hops: int = 1, repo: str = REPO) -> Path:
    """A Hub cache that holds the tiny release, as huggingface_hub 2.4 lays it out; 0 hops: links are switched off."""
    root = cache / repo / "snapshots" / REVISION
    files = tiny.files_of(tiny.release(cache.parent / f"plain-{repo}"))
    for name, data in files.items():
        add(root, name, data, hops)
    (cache / repo / "refs").mkdir()
    (cache / repo / "refs" / "main").write_text(REVISION)
    return root


def add(root: Path, name: str, data: bytes, hops: int = 1) -> None:
    """One more file in a snapshot."""
    cache, repo = root.parents[2], root.parents[1]
    if not hops:
        tiny.write(root, {name: data})
        return
    blob, stored = repo / "blobs" / tiny.sha256(data)[:40], cache / "blobs" / tiny.sha256(data)[:2] / tiny.sha256(data)
    tiny.write(cache, {str((blob if hops == 1 else stored).relative_to(cache)): data})
    if hops == 2 and not blob.is_symlink():
        link(blob, stored)
    link(root / name, blob)


def link(path: Path, target: Path) -> Path:
    """`path` as a relative link to `target`, as the client makes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))
    return path


@pytest.fixture(params=[0, 1, 2], ids=["copies", "one-hop", "two-hops"])
def cached(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int]:
    return snapshot(tmp_path / "hub", request.param), request.param


# ------------------------------------------------------------------------------------------------------ the Hub's cache


def test_a_snapshot_in_the_hub_cache_is_good(cached: tuple[Path, int]) -> None:
    said = both(cached[0])
    assert (said.code, said.findings) == (0, [])


def test_a_snapshot_is_found_through_a_link_and_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = snapshot(tmp_path / "hub", 2)
    (tmp_path / "elsewhere").symlink_to(root)
    assert both(tmp_path / "elsewhere").code == 0
    (tmp_path / "linked-hub").symlink_to(tmp_path / "hub")
    assert both(tmp_path / "linked-hub" / root.relative_to(tmp_path / "hub")).code == 0
    monkeypatch.chdir(root)
    assert both(".").code == 0


def test_a_changed_blob_is_found(cached: tuple[Path, int]) -> None:
    root, _ = cached
    file = Path(os.path.realpath(root / GUIDE))
    file.write_bytes(b"B" + file.read_bytes()[1:])
    assert both(root).errors == {("hash-mismatch", GUIDE)}


@pytest.mark.parametrize(
    ("name", "data", "severity"),
    [
        ("evil.py", b"import os\n", "error"),
        ("pytorch_model.bin", b"", "error"),
        ("notes.txt", b"\x80\x04.", "error"),
        ("notes.txt", b"plain\n", "warning"),
    ],
    ids=["code", "weights", "pickle", "note"],
)
def test_an_unlisted_file_in_a_snapshot_is_classed_as_anywhere(cached: tuple[Path, int], name: str, data: bytes, severity: str) -> None:
    root, hops = cached
    add(root, name, data, hops)
    assert both(root).rows == {("undeclared-file", severity, name)}


def test_an_unlisted_file_of_a_snapshot_is_reached_by_a_linked_config(tmp_path: Path) -> None:
    root = snapshot(tmp_path / "hub")
    config = b'{"extra": "special.dat"}'
    add(root, "docs/extra.json", config)
    tiny.edit(root, lambda s: s["subject"].append(tiny.subject("docs/extra.json", config)))
    add(root, "special.dat", b"plain\n")
    assert both(root).rows == {("undeclared-file", "error", "special.dat")}


def test_a_partial_snapshot_is_partial(cached: tuple[Path, int]) -> None:
    root, _ = cached
    (root / GUIDE).unlink()
    said = both(root)
    assert (said.code, said.errors) == (3, {("partial-download", GUIDE)})


def test_a_file_of_two_repositories_of_one_cache(tmp_path: Path) -> None:
    root = snapshot(tmp_path / "hub")
    other = snapshot(tmp_path / "hub", repo="models--example-org--other")
    link(root / GUIDE, Path(os.path.realpath(other / GUIDE)))
    assert both(root).code == 0


# ----------------------------------------------------------------------------------------------------- what looks like it


def outside_the_cache(root: Path, data: bytes) -> None:
    (root.parents[3] / "outside").write_bytes(data)
    link(root / GUIDE, root.parents[3] / "outside")


def hop_outside_the_cache(root: Path, data: bytes) -> None:
    (root.parents[3] / "outside").write_bytes(data)
    link(root / GUIDE, link(root.parents[1] / "blobs" / ("0" * 40), root.parents[3] / "outside"))


def three_hops(root: Path, data: bytes) -> None:
    blobs = root.parents[1] / "blobs"
    (blobs / "c").write_bytes(data)
    link(root / GUIDE, link(blobs / "a", link(blobs / "b", blobs / "c")))


def absolute(root: Path, data: bytes) -> None:
    (root / GUIDE).unlink()
    (root.parents[3] / "outside").write_bytes(data)
    (root / GUIDE).symlink_to(root.parents[3] / "outside")


def below_blobs(root: Path, data: bytes) -> None:
    tiny.write(root.parents[1], {"blobs/deeper/a": data})
    link(root / GUIDE, root.parents[1] / "blobs/deeper/a")


def other_kind_of_repository(root: Path, data: bytes) -> None:
    tiny.write(root.parents[2], {"datasets--a--b/blobs/a": data})
    link(root / GUIDE, root.parents[2] / "datasets--a--b/blobs/a")


def store_of_another_form(root: Path, data: bytes) -> None:
    tiny.write(root.parents[2], {"blobs/0a/short": data})
    link(root / GUIDE, root.parents[2] / "blobs/0a/short")


def another_file_of_the_release(root: Path, data: bytes) -> None:
    tiny.write(root, {"docs/copy.txt": data})
    link(root / GUIDE, root / "docs/copy.txt")


def dots_through_a_link(root: Path, data: bytes) -> None:
    """By its text the link leads to blobs/x, which is right; the kernel, and so a loader, goes through `trap` to another x."""
    outside = root.parents[3] / "outside"
    tiny.write(outside, {"folder/a": b"", "x": b"import evil\n"})
    (root.parents[1] / "blobs" / "x").write_bytes(data)
    (root.parents[1] / "blobs" / "trap").symlink_to(outside / "folder")
    (root / GUIDE).unlink()
    (root / GUIDE).symlink_to("../../../blobs/trap/../x")


def linked_blobs_folder(root: Path, data: bytes) -> None:
    blobs = root.parents[1] / "blobs"
    blobs.rename(root.parents[3] / "blobs-elsewhere")
    blobs.symlink_to(root.parents[3] / "blobs-elsewhere")


def a_folder(root: Path, data: bytes) -> None:
    (root.parents[1] / "blobs" / "f").mkdir()
    link(root / GUIDE, root.parents[1] / "blobs" / "f")


def a_fifo(root: Path, data: bytes) -> None:
    os.mkfifo(root.parents[1] / "blobs" / "f")
    link(root / GUIDE, root.parents[1] / "blobs" / "f")


def nothing(root: Path, data: bytes) -> None:
    Path(os.path.realpath(root / GUIDE)).unlink()


def itself(root: Path, data: bytes) -> None:
    link(root / GUIDE, root / GUIDE)


def a_loop(root: Path, data: bytes) -> None:
    blobs = root.parents[1] / "blobs"
    link(root / GUIDE, link(blobs / "a", link(blobs / "b", blobs / "a")))


FALSE_FRIENDS = [
    outside_the_cache, hop_outside_the_cache, three_hops, absolute, below_blobs, other_kind_of_repository, store_of_another_form,
    another_file_of_the_release, dots_through_a_link, linked_blobs_folder, a_folder, a_fifo, nothing, itself, a_loop,
]  # fmt: skip


@pytest.mark.parametrize("spoil", FALSE_FRIENDS)
def test_a_link_that_only_looks_like_the_caches_own(tmp_path: Path, spoil: object) -> None:
    root = snapshot(tmp_path / "hub")
    spoil(root, (root / GUIDE).read_bytes())  # type: ignore[operator]
    with within(20):
        said = both(root)
    assert said.code == 1
    assert ("symlink", GUIDE) in said.errors or ("symlink", tiny.PROVENANCE) in said.errors
    assert {kind for kind, _ in said.errors} <= {"symlink", "undeclared-file", "provenance-missing"}


@pytest.mark.parametrize(
    "place",
    ["hub/snapshots/x", f"hub/{REPO}/snapshots/main", f"hub/{REPO}/snapshots/{REVISION[:39]}", f"hub/datasets--a--b/snapshots/{REVISION}"],
)
def test_links_in_a_folder_that_is_no_snapshot(tmp_path: Path, place: str) -> None:
    root = snapshot(tmp_path / "hub")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    root.rename(tmp_path / place)
    said = both(tmp_path / place)
    assert said.code == 1
    assert {kind for kind, _ in said.errors} == {"symlink"}


@pytest.mark.parametrize("target", ["config.json", "../outside", "/etc/passwd", "nowhere", "."])
def test_a_link_in_a_plain_folder(root: Path, target: str) -> None:
    (root.parent / "outside").write_bytes(b"x")
    (root / "link").symlink_to(target)
    assert both(root).rows == {("symlink", "error", "link")}


def test_a_listed_file_that_is_a_link_to_the_right_bytes(root: Path) -> None:
    (root / GUIDE).rename(root.parent / "outside")
    (root / GUIDE).symlink_to("../../outside")
    assert both(root).rows == {("symlink", "error", GUIDE)}


def test_a_folder_that_is_a_link_to_the_right_files(root: Path) -> None:
    (root / "docs").rename(root.parent / "docs")
    (root / "docs").symlink_to("../docs")
    said = both(root)
    assert (said.code, said.errors) == (1, {("symlink", "docs"), ("file-missing", GUIDE)})


@pytest.mark.parametrize("target", ["elsewhere.json", "nowhere", "/etc/passwd"])
def test_a_provenance_that_is_a_link(root: Path, target: str) -> None:
    (root / tiny.PROVENANCE).rename(root / "elsewhere.json")
    (root / tiny.PROVENANCE).symlink_to(target)
    said = both(root)
    assert (said.code, said.errors) == (1, {("symlink", tiny.PROVENANCE)})


# --------------------------------------------------------------------------------------------------- other plain layouts


def test_download_to_a_local_folder(root: Path) -> None:
    tiny.write(root / ".cache/huggingface", OWN_FILES)
    assert both(root).findings == []


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("x.py", "error"),
        ("download/evil.py", "error"),
        ("download/config.json", "error"),
        ("trees/config.json", "error"),
        ("trees/notes.json", "warning"),
        ("download/notes.txt", "warning"),
        ("../other.txt", "warning"),
        ("../huggingface.py", "error"),
    ],
)
def test_only_the_clients_own_files_are_expected_in_its_folder(root: Path, name: str, severity: str) -> None:
    path = os.path.normpath(f".cache/huggingface/{name}")
    assert both(tiny.write(root, {path: b"plain\n"})).rows == {("undeclared-file", severity, path)}


def test_the_clients_folder_elsewhere_is_nothing_special(root: Path) -> None:
    name = "docs/.cache/huggingface/download/config.json.metadata"
    assert both(tiny.write(root, {name: b""})).warnings == {("undeclared-file", name)}


def test_links_in_the_clients_folder_are_links(root: Path) -> None:
    (root / ".cache/huggingface/download").mkdir(parents=True)
    (root / ".cache/huggingface/download/a.metadata").symlink_to("/etc/passwd")
    assert {kind for kind, _ in both(root).errors} == {"symlink"}


@pytest.mark.parametrize("git", ["folder", "file", "link"])
def test_a_git_clone(root: Path, git: str) -> None:
    (root / ".gitattributes").write_bytes(b"*.safetensors filter=lfs\n")
    if git == "folder":
        tiny.write(root / ".git", {"config": b"", "hooks/pre-commit": b"#!/bin/sh\n", "objects/ab/cd": b"\x80\x04."})
    elif git == "file":
        (root / ".git").write_bytes(b"gitdir: ../.git/worktrees/x\n")
    else:
        (root / ".git").symlink_to("../git-dir")
    assert both(root).findings == []


def test_git_folders_elsewhere_are_nothing_special(root: Path) -> None:
    assert both(tiny.write(root, {"docs/.git/hooks/pre-commit.sh": b""})).errors == {("undeclared-file", "docs/.git/hooks/pre-commit.sh")}


def test_empty_folders_are_fine(root: Path) -> None:
    (root / "empty/deeper").mkdir(parents=True)
    assert both(root).findings == []


def test_a_read_only_folder_is_left_as_it_was() -> None:
    with public_folder() as scratch:
        root = tiny.release(scratch / "release")
        both(root)  # everything is imported
        for path in [*root.rglob("*"), root]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = {path: path.lstat() for path in root.rglob("*")}
        with as_nobody():
            assert both(root).code == 0
        after = {path: path.lstat() for path in root.rglob("*")}
        assert [(p, s.st_mtime_ns, s.st_ctime_ns) for p, s in before.items()] == [
            (p, s.st_mtime_ns, s.st_ctime_ns) for p, s in after.items()
        ]


def test_no_network(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **keywords: object) -> None:
        raise AssertionError("a verifier asked for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert both(root).code == 0


# ------------------------------------------------------------------------------------------------------ what can't be read


@pytest.fixture
def public() -> Iterator[Path]:
    with public_folder() as scratch:
        root = tiny.release(scratch / "release")
        both(root)  # what is imported on the way may lie where nobody can get at it
        both(scratch / "nowhere")
        yield root


def test_an_unreadable_file_is_undecided(public: Path) -> None:
    (public / GUIDE).chmod(0)
    with as_nobody():
        said = both(public)
    assert (said.code, said.errors) == (3, {("unreadable", GUIDE)})


def test_an_unreadable_verifier_is_one_finding(public: Path) -> None:
    (public / tiny.VERIFIER).chmod(0)
    with as_nobody():
        assert both(public).only()["file"] == tiny.VERIFIER


def test_an_unreadable_provenance_is_undecided(public: Path) -> None:
    (public / tiny.PROVENANCE).chmod(0)
    with as_nobody():
        said = both(public)
    assert (said.code, said.errors) == (3, {("unreadable", tiny.PROVENANCE)})


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111])
def test_files_of_an_unreadable_folder_are_not_called_absent(public: Path, mode: int) -> None:
    (public / "docs").chmod(mode)
    with as_nobody():
        said = both(public)
    assert (said.code, said.errors) == (3, {("unreadable", "docs")})


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111])
def test_nothing_is_said_of_a_release_that_can_not_be_read(public: Path, mode: int) -> None:
    public.chmod(mode)
    with as_nobody():
        said = both(public)
    assert (said.code, {kind for kind, _ in said.errors}) == (3, {"unreadable"})


def test_a_release_behind_a_closed_door(public: Path) -> None:
    public.chmod(0)
    with as_nobody():
        assert both(public / "inner").code == 3


def test_an_unlisted_file_that_can_not_be_read_is_undecided_unless_its_name_decides(public: Path) -> None:
    for name in ("notes.txt", "evil.py"):
        tiny.write(public, {name: b"plain\n"})
        (public / name).chmod(0)
    with as_nobody():
        said = both(public)
    assert said.errors == {("unreadable", "notes.txt"), ("undeclared-file", "evil.py")}
    (public / "evil.py").unlink()
    with as_nobody():
        assert both(public).code == 3


def test_an_unreadable_blob_is_undecided() -> None:
    with public_folder() as scratch:
        root = snapshot(scratch / "hub")
        both(root)
        Path(os.path.realpath(root / GUIDE)).chmod(0)
        with as_nobody():
            said = both(root)
        assert (said.code, said.errors) == (3, {("unreadable", GUIDE)})


@pytest.mark.parametrize("option", ["--against", "--remote-tree"])
def test_what_else_verify_can_not_open_is_undecided_in_the_same_shape(root: Path, option: str) -> None:
    assert hubrelease_verify(root, option, str(root / "nowhere")).code == 3


def test_an_unreadable_file_is_a_finding_when_compared_with_a_remote_too(public: Path) -> None:
    size = (public / GUIDE).stat().st_size
    listing = public.parent / "listing.json"
    listing.write_bytes(tiny.dumps([{"type": "file", "path": GUIDE, "size": size, "oid": "0" * 40}]))
    hubrelease_verify(public, "--remote-tree", str(listing))
    (public / GUIDE).chmod(0)
    with as_nobody():
        assert ("unreadable", GUIDE) in hubrelease_verify(public, "--remote-tree", str(listing)).errors


@pytest.mark.parametrize("name", ["nowhere", "a" * 300, "file", "file/below", "loop"])
def test_a_folder_that_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    said = both(tmp_path / name)
    assert (said.code, said.value["verdict"]) == (3, "undecided")
    assert said.only()["kind"] == "unreadable"


def test_a_current_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert both(".").code == 3


def test_a_folder_with_a_name_that_is_no_text(tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[2J::x")
    assert both(odd).code == 3
    shutil.move(tiny.release(tmp_path / "release"), odd)
    assert both(odd).code == 0
