"""A conversion that is killed or finds no room: nothing is published, and the shards that were finished are not made again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

from hubrelease.conversion.engine import Engine

SHARDS = 4
KILLED_IN_THE_THIRD = """
import os, signal, sys
from hubrelease import commands
from hubrelease.conversion.engine import Engine
make, calls = Engine.make, []
def once_more(self, *args, **more):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return make(self, *args, **more)
Engine.make = once_more
commands.main()
"""


@pytest.fixture
def base(tmp_path) -> Path:
    names = [f"model-{n:05d}-of-{SHARDS:05d}.safetensors" for n in range(1, SHARDS + 1)]
    weights = [f"model.layers.{n}.mlp.down_proj.weight" for n in range(SHARDS)]
    shards = {name: tiny.safetensors({weight: tiny.bf16(weight, 128, 256)}) for name, weight in zip(names, weights, strict=True)}
    index = tiny.dumps({"metadata": {}, "weight_map": dict(zip(weights, names, strict=True))})
    config = tiny.dumps({"architectures": ["ExampleModel"], "model_type": "example"})
    return tiny.write(tmp_path / "base", {**shards, "config.json": config, "model.safetensors.index.json": index})


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """Names of the shards that are converted, in order."""
    names: list[str] = []
    make = Engine.make
    monkeypatch.setattr(Engine, "make", lambda self, job, reserved: names.append(job.plan.name) or make(self, job, reserved))
    return names


def killed(base: Path, out: Path) -> None:
    command = [sys.executable, "-c", KILLED_IN_THE_THIRD, "convert", base, "--format", "nvfp4a16", "--out", out, "--jobs", "1"]
    done = subprocess.run(list(map(str, command)), capture_output=True, env=dict(os.environ), check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_after_a_kill_nothing_lies_there_and_finished_shards_are_kept(base, tmp_path, cli, made):
    killed(base, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert cli("convert", base, "--format", "nvfp4a16", "--out", tmp_path / "out", "--jobs", "1").code == 0
    assert len(made) == SHARDS - 2
    assert cli("convert", base, "--format", "nvfp4a16", "--out", tmp_path / "other", "--jobs", "1").code == 0
    assert tiny.files_of(tmp_path / "out") == tiny.files_of(tmp_path / "other")


def test_shards_of_another_format_or_of_a_changed_base_are_not_taken(base, tmp_path, cli, made):
    killed(base, tmp_path / "out")
    shard = base / "model-00001-of-00004.safetensors"
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    assert cli("convert", base, "--format", "nvfp4a16", "--out", tmp_path / "out", "--jobs", "1").code == 0
    assert shard.name in made
    assert len(made) == SHARDS - 1


def test_a_finished_shard_that_was_spoilt_meanwhile_is_made_again(base, tmp_path, cli, made):
    killed(base, tmp_path / "out")
    found = [p for p in tmp_path.rglob("*.safetensors") if "base" not in p.parts]
    assert found
    for shard in found:
        shard.write_bytes(b"spoilt")
    assert cli("convert", base, "--format", "nvfp4a16", "--out", tmp_path / "out", "--jobs", "1").code == 0
    assert len(made) == SHARDS


def test_no_room_is_said_before_the_first_byte(base, tmp_path, cli, made, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10_000))
    said = cli("convert", base, "--format", "fp8_block", "--out", tmp_path / "out", "--json")
    assert said.code == 3
    assert said.problems[0]["kind"] == "disk-fault"
    assert made == []
    assert not (tmp_path / "out").exists()


def test_a_base_that_changes_while_it_is_read_is_refused(base, tmp_path, cli, monkeypatch):
    make = Engine.make

    def cut(self, job, reserved):
        path = base / job.plan.name
        os.truncate(path, path.stat().st_size - 1000)
        return make(self, job, reserved)

    monkeypatch.setattr(Engine, "make", cut)
    said = cli("convert", base, "--format", "fp8_block", "--out", tmp_path / "out", "--json")
    assert said.code in (1, 3)
    assert {p["kind"] for p in said.problems} == {"source-changed"}
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_stays_as_it_is(base, tmp_path, cli):
    out = tiny.write(tmp_path / "out", {"mine.txt": b"mine"})
    assert cli("convert", base, "--format", "fp8_block", "--out", out).code == 1
    assert tiny.files_of(out) == {"mine.txt": b"mine"}


def test_the_same_bytes_with_one_worker_and_with_four(base, tmp_path, cli):
    for jobs in ("1", "4"):
        assert cli("convert", base, "--format", "w4a16", "--out", tmp_path / jobs, "--jobs", jobs).code == 0
    assert tiny.files_of(tmp_path / "1") == tiny.files_of(tmp_path / "4")
    assert json.loads((tmp_path / "1" / "conversion_manifest.json").read_bytes())["tensors"]
