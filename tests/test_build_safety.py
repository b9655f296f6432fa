"""A build never loses anything: full disks, read-only targets, foreign files, two builds at once, vanished sources."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from pathlib import Path

import pytest
import tiny

import hubrelease
from hubrelease import workspace
from hubrelease.errors import CheckFailed, Exit, OutsideError, ReleaseError
from hubrelease.spec import Spec

SPEC = """schema: 1
name: example-org/tiny-llama
version: 1.0.0
license: apache-2.0
sources: {base_model: {folder: model}}
weights: {format: as-is, recipe: made for a test}
card: {summary: "A tiny model."}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return make(tmp_path / "spec")


def make(folder: Path, changes: dict[str, bytes] | None = None) -> Spec:
    tiny.write(folder / "model", {**{p: d for p, d in tiny.model().items() if p != tiny.VERIFIER}, **(changes or {})})
    (folder / "release.yaml").write_text(SPEC)
    made = hubrelease.load_spec(folder)
    hubrelease.pin(made)
    return made


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def kinds(error: pytest.ExceptionInfo[ReleaseError]) -> set[str]:
    return {p.kind for p in error.value.problems}


def test_a_build_is_good_and_leaves_nothing_beside_its_target(spec, tmp_path):
    built = hubrelease.build(spec, tmp_path / "out")
    assert hubrelease.verify(built.folder).exit == Exit.GOOD
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "spec"]


def test_the_same_spec_and_lock_give_the_same_bytes_in_another_folder_with_another_umask_and_locale(spec, tmp_path, monkeypatch):
    first = hubrelease.build(spec, tmp_path / "a")
    copy = tmp_path / "elsewhere" / "spec"
    shutil.copytree(spec.folder, copy)
    before = os.umask(0o077)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("TZ", "Asia/Seoul")
    try:
        second = hubrelease.build(hubrelease.load_spec(copy), tmp_path / "b", jobs=1)
    finally:
        os.umask(before)
    assert tree(first.folder) == tree(second.folder)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in second.folder.rglob("*") if p.is_file()}
    assert modes == {0o644}
    assert {stat.S_IMODE(p.stat().st_mode) for p in [second.folder, *second.folder.rglob("*")] if p.is_dir()} == {0o755}


def test_a_rebuild_after_an_edit_of_the_card_reads_no_weights(spec, tmp_path):
    out = tmp_path / "out"
    hubrelease.build(spec, out)
    before = (out / "model.safetensors").stat().st_ino
    shutil.rmtree(spec.folder / "model")  # the source may even be gone
    (spec.folder / "release.yaml").write_text(SPEC.replace("A tiny model.", "Another card."))
    hubrelease.build(hubrelease.load_spec(spec.folder), out)
    assert "Another card." in (out / "README.md").read_text()
    assert (out / "model.safetensors").stat().st_ino == before
    assert (out / "model.safetensors").stat().st_nlink == 1
    assert hubrelease.verify(out).exit == Exit.GOOD


def tamper(file: Path) -> None:
    """Another byte, the same size and the same mtime: only ctime tells."""
    data, times = file.read_bytes(), file.stat()
    with file.open("r+b") as stream:
        stream.seek(len(data) - 1)
        stream.write(bytes([data[-1] ^ 1]))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("rehash", [True, False])
def test_a_large_file_that_was_tampered_with_is_not_taken_over(spec, tmp_path, monkeypatch, rehash):
    out = tmp_path / "out"
    hubrelease.build(spec, out)
    good = (out / "model.safetensors").read_bytes()
    monkeypatch.setattr(workspace, "SMALL_BYTES", 1000)
    tamper(out / "model.safetensors")
    hubrelease.build(spec, out, rehash=rehash)
    assert (out / "model.safetensors").read_bytes() == good


def test_a_small_file_that_was_edited_is_not_thrown_away(spec, tmp_path):
    out = tmp_path / "out"
    hubrelease.build(spec, out)
    tamper(out / "config.json")
    with pytest.raises(CheckFailed) as error:
        hubrelease.build(spec, out)
    assert kinds(error) == {"target-occupied"}


@pytest.mark.parametrize("name", ["notes.txt", "sub/deep/mine.bin", ".git/config"])
def test_a_target_with_a_file_that_no_build_wrote_is_refused_and_kept(spec, tmp_path, name):
    out = tmp_path / "out"
    hubrelease.build(spec, out)
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text("mine")
    before = tree(out)
    with pytest.raises(CheckFailed) as error:
        hubrelease.build(spec, out)
    assert kinds(error) == {"target-occupied"}
    assert tree(out) == before


@pytest.mark.parametrize("fill", ["a file", "a foreign folder"])
def test_a_target_that_is_no_release_is_refused_and_kept(spec, tmp_path, fill):
    out = tmp_path / "out"
    if fill == "a file":
        out.write_text("mine")
    else:
        tiny.write(out, {"thesis.tex": b"mine"})
    with pytest.raises(CheckFailed) as error:
        hubrelease.build(spec, out)
    assert kinds(error) == {"target-occupied"}
    assert out.exists()


def test_an_empty_target_folder_is_fine(spec, tmp_path):
    (tmp_path / "out").mkdir()
    hubrelease.build(spec, tmp_path / "out")
    assert hubrelease.verify(tmp_path / "out").exit == Exit.GOOD


def test_a_target_that_is_a_link_to_a_folder_is_replaced_where_it_points(spec, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    hubrelease.build(spec, tmp_path / "out")
    assert (tmp_path / "out").is_symlink()
    assert hubrelease.verify(tmp_path / "real").exit == Exit.GOOD


def test_a_signature_that_no_longer_fits_goes_with_a_message(spec, tmp_path):
    out = tmp_path / "out"
    hubrelease.build(spec, out)
    (out / "model.sig").write_text("{}")
    assert hubrelease.build(spec, out).signature_removed
    assert not (out / "model.sig").exists()


def test_two_builds_of_one_target_the_second_says_so(spec, tmp_path):
    with workspace.opened(tmp_path / "out"), pytest.raises(OutsideError) as error:
        hubrelease.build(spec, tmp_path / "out")
    assert kinds(error) == {"build-running"}
    hubrelease.build(spec, tmp_path / "out")


def test_a_full_disk_is_a_clear_error_and_the_old_release_stays(spec, tmp_path, monkeypatch):
    out = tmp_path / "out"
    hubrelease.build(spec, out)
    before = tree(out)
    make(tmp_path / "spec", {"model.safetensors": tiny.safetensors(tiny.weights(), {"format": "pt", "other": "bytes"})})
    hubrelease.pin(spec, update=["base_model"])
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if stat.S_ISREG(os.fstat(fd).st_mode) and len(data) > 4000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutsideError) as error:
        hubrelease.build(spec, out)
    assert kinds(error) == {"disk-fault"}
    assert "No space" in error.value.problems[0].message
    assert tree(out) == before
    monkeypatch.undo()
    hubrelease.build(spec, out)
    assert hubrelease.verify(out).exit == Exit.GOOD


def test_too_little_room_is_said_before_the_first_byte(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(OutsideError) as error:
        hubrelease.build(spec, tmp_path / "out")
    assert kinds(error) == {"disk-fault"}
    assert "are needed" in error.value.problems[0].message


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody who may not write")
def test_a_target_that_may_not_be_written_is_a_clear_error(spec, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    child = os.fork()
    if child == 0:
        for folder in (tmp_path, *tmp_path.parents):
            if os.stat(folder).st_mode & 0o055 != 0o055 and folder != Path("/"):
                os.chmod(folder, 0o755)
        os.setgid(65534)
        os.setuid(65534)
        try:
            hubrelease.build(spec, closed / "out", locked=True)
        except OutsideError as error:
            os._exit(10 if error.problems[0].kind == "disk-fault" else 11)
        os._exit(12)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10


def test_a_source_that_vanishes_in_the_middle_is_a_clear_error(spec, tmp_path):
    (spec.folder / "model" / "model.safetensors").unlink()
    with pytest.raises(ReleaseError) as error:
        hubrelease.build(spec, tmp_path / "out")
    assert error.value.exit in (Exit.BAD, Exit.OUTSIDE)
    assert "model.safetensors" in error.value.problems[0].where.file
    assert not (tmp_path / "out").exists()


def test_a_failed_build_is_taken_up_where_it_stopped(spec, tmp_path, monkeypatch):
    from hubrelease.steps.card import Card

    monkeypatch.setattr(Card, "run", lambda self, build: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        hubrelease.build(spec, tmp_path / "out")
    monkeypatch.undo()
    shutil.rmtree(spec.folder / "model")
    hubrelease.build(spec, tmp_path / "out")
    assert hubrelease.verify(tmp_path / "out").exit == Exit.GOOD


def test_hard_links_into_the_users_folder_only_when_asked_for(spec, tmp_path):
    source = spec.folder / "model" / "model.safetensors"
    hubrelease.build(spec, tmp_path / "plain")
    assert source.stat().st_nlink == 1
    hubrelease.build(spec, tmp_path / "linked", link=True)
    assert source.stat().st_ino == (tmp_path / "linked" / "model.safetensors").stat().st_ino
    assert hubrelease.verify(tmp_path / "linked").exit == Exit.GOOD


def test_holes_of_sparse_files_stay_holes(tmp_path):
    size = 64 * 2**20
    head = hubrelease.api.builder and __import__("hubrelease.weights", fromlist=["x"]).header_bytes(
        [("w", "U8", (size,))], {"format": "pt"}
    )
    folder = tmp_path / "spec"
    tiny.write(folder / "model", {"config.json": b"{}", "LICENSE": b"x\n"})
    with (folder / "model" / "model.safetensors").open("wb") as out:
        out.write(head)
        out.truncate(len(head) + size)
    (folder / "release.yaml").write_text(SPEC)
    spec = hubrelease.load_spec(folder)
    hubrelease.pin(spec)
    hubrelease.build(spec, tmp_path / "out")
    built = (tmp_path / "out" / "model.safetensors").stat()
    assert built.st_size == len(head) + size
    assert built.st_blocks * 512 < 2**20
    assert hubrelease.verify(tmp_path / "out").checked["bytes"] > size


def test_a_lock_held_by_a_dead_process_holds_nobody_up(spec, tmp_path):
    folder = workspace.folder_for(tmp_path / "out")
    folder.mkdir()
    child = os.fork()
    if child == 0:
        fd = os.open(folder, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os._exit(0)
    os.waitpid(child, 0)
    hubrelease.build(spec, tmp_path / "out")


def test_files_linked_from_the_users_folder_are_never_changed_and_never_outlive_the_wish(spec, tmp_path):
    source = spec.folder / "model" / "model.safetensors"
    source.chmod(0o600)
    out = tmp_path / "out"
    hubrelease.build(spec, out, link=True)
    hubrelease.build(spec, out, link=True)
    assert stat.S_IMODE(source.stat().st_mode) == 0o600
    assert source.stat().st_ino == (out / "model.safetensors").stat().st_ino
    hubrelease.build(spec, out)
    assert source.stat().st_ino != (out / "model.safetensors").stat().st_ino


def test_a_planted_scratch_file_is_not_written_through(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    os.link(outside, workspace.scratch_of(tmp_path / "README.md"))
    workspace.write_durably(tmp_path / "README.md", b"card")
    assert outside.read_text() == "mine"
    assert (tmp_path / "README.md").read_bytes() == b"card"


def full_after(monkeypatch, writes):
    """A disk that takes so many writes more, and half of the next."""
    real, left = os.write, iter(range(writes))

    def full(fd, data):
        if next(left, None) is None:
            real(fd, bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data)

    monkeypatch.setattr(os, "write", full)


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_files_that_are_written_together_are_all_replaced_or_none_and_nothing_stays_beside_them(tmp_path, monkeypatch, writes):
    before = {name: f"old {name}".encode() for name in ("a", "b", "c", "signature")}
    tiny.write(tmp_path, dict(before))
    full_after(monkeypatch, writes)
    new = {tmp_path / name: f"new {name}".encode() for name in ("a", "b", "c")}
    with pytest.raises(OSError, match="No space"):
        workspace.write_together(new, [tmp_path / "signature"])
    assert tiny.files_of(tmp_path) == before
    monkeypatch.undo()
    workspace.write_together(new, [tmp_path / "signature"])
    assert tiny.files_of(tmp_path) == {path.name: data for path, data in new.items()}


def test_what_can_not_take_its_place_is_taken_away(tmp_path):
    (tmp_path / "README.md").mkdir()
    with pytest.raises(OSError, match="directory"):
        workspace.write_durably(tmp_path / "README.md", b"card")
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
