"""A build killed before any of its operations on the file system: the target is the old release, the new one, or absent.

The test counts the operations of a whole build by Python's audit events, then runs it once for each, killed just before
it. Random moments, which also hit the middle of a write, are bench/kill.py's business.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

import hubrelease
from hubrelease import workspace
from hubrelease.errors import Exit
from hubrelease.spec import Spec
from hubrelease.weights import header_bytes

pytestmark = pytest.mark.heavy  # seconds each

CHANGES = ("os.rename", "os.link", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "os.truncate", "shutil.rmtree", "fcntl.flock")


def make(folder: Path, fill: int) -> Spec:
    model = folder / "model"
    model.mkdir(parents=True)
    weight_map = {}
    for number in (1, 2):
        name = f"model-{number:05d}-of-00002.safetensors"
        head = header_bytes([(f"w{number}", "U8", (64,))], {"format": "pt"})
        (model / name).write_bytes(head + bytes([fill]) * 64)
        weight_map[f"w{number}"] = name
    (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 128}, "weight_map": weight_map}))
    (model / "config.json").write_text('{"model_type": "tiny"}')
    (model / "LICENSE").write_text("A licence.\n")
    (folder / "release.yaml").write_text(
        "schema: 1\nname: example-org/tiny\nversion: 1.0.0\nlicense: mit\nsources: {base_model: {folder: model}}\nweights: {format: as-is}\n"
    )
    spec = hubrelease.load_spec(folder)
    hubrelease.pin(spec)
    return spec


def counted(action, at: int | None) -> int:
    """Runs `action` in a child that is killed before its `at`-th change of the file system; its number of changes."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0

        def step() -> None:
            nonlocal seen
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

        def hook(event: str, args: tuple) -> None:
            writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if event in CHANGES or writes:
                step()

        exchange = workspace.exchange

        def stepped(one, other):
            step()
            done = exchange(one, other)
            step()
            return done

        workspace.exchange = stepped
        sys.addaudithook(hook)
        action()
        os.write(write_end, str(seen).encode())
        os._exit(0)
    os.close(write_end)
    text = os.read(read_end, 100)
    os.close(read_end)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) if at else status == 0
    return int(text or 0)


def digest_of(out: Path) -> str | None:
    workspace.recover(out)
    if not out.exists():
        return None
    verdict = hubrelease.verify(out)
    assert verdict.exit == Exit.GOOD, verdict.problems
    return verdict.release_digest


@pytest.mark.heavy
@pytest.mark.parametrize("can_exchange", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("replacing", [True, False], ids=["over an old release", "fresh"])
def test_a_kill_before_any_operation_leaves_the_old_release_or_the_new_one(tmp_path, monkeypatch, can_exchange, replacing):
    kill_before(lambda total: range(1, total + 1), tmp_path, monkeypatch, can_exchange, replacing)


@pytest.mark.parametrize("can_exchange", [True, False], ids=["exchange", "two renames"])
def test_a_kill_before_the_last_operations_leaves_the_old_release_or_the_new_one(tmp_path, monkeypatch, can_exchange):
    """The swap and what follows it, and one in ten of the operations before."""
    kill_before(lambda total: [*range(1, total - 30, 10), *range(total - 30, total + 1)], tmp_path, monkeypatch, can_exchange, True)


def kill_before(moments, tmp_path, monkeypatch, can_exchange, replacing):
    if not can_exchange:
        monkeypatch.setattr(workspace, "exchange", lambda one, other: False)
    old, new = make(tmp_path / "old", 1), make(tmp_path / "new", 2)
    out = tmp_path / "out"
    hubrelease.build(new, out)
    after = digest_of(out)
    hubrelease.build(old, out)
    before = digest_of(out)

    def reset() -> None:
        if replacing:
            hubrelease.build(old, out)
        else:
            workspace.shutil.rmtree(out, ignore_errors=True)

    reset()
    total = counted(lambda: hubrelease.build(new, out), None)
    assert total > 30
    for at in moments(total):
        reset()
        counted(lambda: hubrelease.build(new, out), at)
        assert digest_of(out) in ((before, after) if replacing else (None, after)), f"killed before change {at} of {total}"
        hubrelease.build(new, out)
        assert digest_of(out) == after, f"the run after a kill before change {at} of {total}"
        assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "old", "out"], "something was left behind"
