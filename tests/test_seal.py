"""seal: a folder becomes a release in place; the payload is read once and not touched; nothing of the user's is lost."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

import hubrelease
from hubrelease import sealer, verify_release, workspace
from hubrelease.errors import CheckFailed, Exit, OutsideError

SPEC = """schema: 1
name: example-org/tiny-llama
version: 1.0.0
license: apache-2.0
weights: {format: as-is, recipe: made for a test}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tiny.write(tmp_path / "model", tiny.model())
    (root / "release.yaml").write_text(SPEC)
    return root


def payload(root: Path) -> dict[str, tuple[bytes, int, int]]:
    return {str(p.relative_to(root)): (p.read_bytes(), p.stat().st_ino, p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}


def test_a_folder_becomes_a_good_release_and_no_file_of_it_is_touched(folder):
    before = payload(folder)
    hubrelease.seal(folder)
    after = payload(folder)
    assert hubrelease.verify(folder).exit == Exit.GOOD
    assert {path: after[path] for path in before} == before
    assert after.keys() - before.keys() == {"MODEL_PROVENANCE.json", "benchmarks/release-validation.json"}


def test_sealing_twice_gives_the_same_bytes_and_hashes_nothing_again(folder, monkeypatch):
    hubrelease.seal(folder)
    before = (folder / "MODEL_PROVENANCE.json").read_bytes()
    hashed = []
    real = sealer.verify_release.hash_fd
    monkeypatch.setattr(sealer.verify_release, "hash_fd", lambda fd, size, *rest: hashed.append(size) or real(fd, size, *rest))
    hubrelease.seal(folder)
    assert (folder / "MODEL_PROVENANCE.json").read_bytes() == before
    assert not hashed
    hubrelease.seal(folder, rehash=True)
    assert len(hashed) > 3


def test_a_hand_edit_is_sealed_again(folder):
    hubrelease.seal(folder)
    (folder / "config.json").write_bytes((folder / "config.json").read_bytes() + b"\n")
    assert hubrelease.verify(folder).exit == Exit.BAD
    hubrelease.seal(folder)
    assert hubrelease.verify(folder).exit == Exit.GOOD


def test_a_card_that_was_written_by_hand_is_kept_while_the_spec_asks_for_none(folder):
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n\n# Mine\n")
    hubrelease.seal(folder)
    assert "# Mine" in (folder / "README.md").read_text()


def test_a_card_that_was_written_by_hand_is_never_overwritten(folder):
    (folder / "release.yaml").write_text(SPEC + "card: {summary: Rendered.}\n")
    (folder / "README.md").write_text("# Mine\n")
    with pytest.raises(CheckFailed) as error:
        hubrelease.seal(folder)
    assert [p.kind for p in error.value.problems] == ["target-occupied"]
    assert (folder / "README.md").read_text() == "# Mine\n"
    assert not (folder / "MODEL_PROVENANCE.json").exists()


def test_a_card_that_we_rendered_is_rendered_again(folder):
    (folder / "README.md").unlink()
    (folder / "release.yaml").write_text(SPEC + "card: {summary: First.}\n")
    hubrelease.seal(folder)
    (folder / "release.yaml").write_text(SPEC + "card: {summary: Second.}\n")
    hubrelease.seal(folder)
    assert "Second." in (folder / "README.md").read_text()


def test_a_file_that_is_a_hard_link_to_elsewhere_is_not_written_through(folder, tmp_path):
    outside = tmp_path / "outside.md"
    (folder / "README.md").unlink()
    (folder / "release.yaml").write_text(SPEC + "card: {summary: First.}\n")
    hubrelease.seal(folder)
    outside.write_bytes((folder / "README.md").read_bytes())
    (folder / "README.md").unlink()
    os.link(outside, folder / "README.md")
    before = outside.read_bytes()
    (folder / "release.yaml").write_text(SPEC + "card: {summary: Second.}\n")
    hubrelease.seal(folder)
    assert outside.read_bytes() == before
    assert "Second." in (folder / "README.md").read_text()


@pytest.mark.parametrize("plant", ["link", "fifo", "folder link"])
def test_what_is_no_plain_file_is_refused_and_nothing_is_written(folder, plant):
    if plant == "link":
        (folder / "extra.json").symlink_to("/etc/hostname")
    elif plant == "fifo":
        os.mkfifo(folder / "extra.json")
    else:
        (folder / "linked").symlink_to("/etc")
    before = set(os.listdir(folder))
    with pytest.raises(CheckFailed):
        hubrelease.seal(folder)
    assert set(os.listdir(folder)) == before


def test_two_seals_at_once_the_second_says_so(folder):
    with sealer.held(folder), pytest.raises(OutsideError) as error:
        hubrelease.seal(folder)
    assert [p.kind for p in error.value.problems] == ["build-running"]


def test_a_validation_of_these_very_bytes_is_kept_and_one_of_others_is_not(folder):
    hubrelease.seal(folder)
    report = folder / "benchmarks" / "release-validation.json"
    told = json.loads(report.read_text())
    told |= {"result": "pass", "reason": None, "checks": [{"name": "load", "status": "pass", "required": True}]}
    told["environment"] = {"gpus": [{"name": "NVIDIA H200", "computeCapability": "9.0"}]}
    passed = json.dumps(told)
    report.write_text(passed)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\nnew card\n")
    hubrelease.seal(folder)
    assert report.read_text() == passed
    (folder / "config.json").write_bytes((folder / "config.json").read_bytes() + b"\n")
    hubrelease.seal(folder)
    assert '"not-run"' in report.read_text()


@pytest.mark.parametrize("writes", range(2))  # the report, the provenance
def test_a_full_disk_leaves_the_sealed_release_with_its_provenance_and_signature(folder, monkeypatch, writes):
    hubrelease.seal(folder)
    (folder / verify_release.SIGNATURE).write_bytes(b"a signature")
    tiny.write(folder, {"config.json": b'{"edited": true}\n'})
    before = tiny.files_of(folder)
    real, left = workspace.write_all, iter(range(writes))

    def full(fd, view):
        if next(left, None) is None:
            real(fd, view[: len(view) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(fd, view)

    monkeypatch.setattr(workspace, "write_all", full)
    with pytest.raises(OutsideError, match="No space"):
        hubrelease.seal(folder)
    assert tiny.files_of(folder) == before
    monkeypatch.undo()
    hubrelease.seal(folder)
    assert hubrelease.verify(folder).exit == Exit.GOOD


def test_what_a_killed_run_had_half_written_is_no_file_of_the_release(folder):
    """A scratch file of a process that is no more is taken away; one of a process that runs is left to it, and so is any other file."""
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    left = folder / f".README.md.{killed.pid}.hubrelease"
    kept = [folder / ".README.md.12", folder / "notes.12.hubrelease"]
    for path in (left, *kept):
        path.write_bytes(b"half")
    hubrelease.seal(folder)
    assert not left.exists()
    assert all(path.exists() for path in kept)
    assert hubrelease.verify(folder).exit == Exit.GOOD
