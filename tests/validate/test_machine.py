"""What is told of the machine: its GPUs as nvidia-smi has them, memory, and nothing of its names and paths."""

from __future__ import annotations

import math
import os
import socket
import stat
import time
from pathlib import Path

import pytest

from hubrelease import gpus, memory_samples, reports_written
from hubrelease.memory_samples import Sampler

TWO = "0, NVIDIA H200, 9.0, 143771, 700.00, 700.00, 580.65.06\n1, NVIDIA H200, 9.0, 143771, 450.00, 700.00, 580.65.06\n"
ODD = "0, NVIDIA GB10, 12.1, [N/A], [N/A], [N/A], 580.65.06\n"


@pytest.fixture
def smi(tmp_path, monkeypatch):
    """An nvidia-smi that says what it is given."""

    def put(text: str, code: int = 0, used: str = "0, 512\n1, 256\n") -> None:
        script = tmp_path / "nvidia-smi"
        (tmp_path / "said").write_text(text)
        (tmp_path / "used").write_text(used)
        script.write_text(
            f'#!/bin/sh\ncase "$*" in *memory.used*) cat {tmp_path}/used;; *query*) cat {tmp_path}/said;; *) echo "CUDA Version: 13.0 ";; esac\nexit {code}\n'
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return put


def test_gpus_are_told_with_capability_memory_and_power(smi):
    smi(TWO)
    found = gpus.find()
    assert (found.driver, found.cuda, len(found.gpus)) == ("580.65.06", "13.0", 2)
    assert found.gpus[1].json == {
        "name": "NVIDIA H200",
        "computeCapability": "9.0",
        "memoryTotalMiB": 143771,
        "powerLimitW": 450.0,
        "powerLimitChanged": True,
    }


def test_only_those_that_this_process_may_use(smi, monkeypatch):
    smi(TWO)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [gpu.power_limit_w for gpu in gpus.find().gpus] == [450.0]
    assert gpus.memory_used_mib() == 256
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1, 0,-1")
    assert [gpu.power_limit_w for gpu in gpus.find().gpus] == [450.0, 700.0]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6")
    assert len(gpus.find().gpus) == 2
    for none in ("", "-1", "7,0", "NoDevFiles"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", none)
        assert "CUDA_VISIBLE_DEVICES" in gpus.find().missing


@pytest.mark.parametrize("code", [0, 1])
def test_a_driver_that_prints_what_is_no_text_is_told(smi, tmp_path, code):
    smi("", code, used="")
    for name in ("said", "used"):
        (tmp_path / name).write_bytes(b"\xae\xff\x00\n\xfe, \xfe")
    assert gpus.find().missing
    assert gpus.memory_used_mib() is None


def test_what_a_gpu_does_not_tell_is_left_out(smi):
    smi(ODD)
    assert gpus.find().gpus[0].json == {"name": "NVIDIA GB10", "computeCapability": "12.1"}


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [("Failed to initialize NVML: Driver/library version mismatch", 18, "version mismatch"), ("", 0, "sees no GPU")],
)
def test_a_driver_that_does_not_work_says_why(smi, text, code, words):
    smi(text, code)
    found = gpus.find()
    assert not found.gpus
    assert words in found.missing


def test_no_driver_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no NVIDIA driver" in gpus.find().missing


def test_the_peak_of_a_process_is_seen(monkeypatch):
    with Sampler(0, lambda: None, 0.02) as sampler:
        time.sleep(0.05)
        held = bytearray(96 * 2**20)
        time.sleep(0.1)
        held[0] = 1
        del held
    found = sampler.found
    assert found["scope"] == "process"
    assert found["samples"] >= 3
    assert found["peakMiB"] > sampler.samples[0] + 64
    assert found["hostOomEvents"] == 0


def test_memory_of_gpus_is_told_with_what_was_there_before(smi):
    smi(TWO)
    with Sampler(2, lambda: None, 0.02) as sampler:
        time.sleep(0.05)
    assert {k: sampler.found[k] for k in ("scope", "peakMiB", "beforeMiB")} == {"scope": "device", "peakMiB": 768, "beforeMiB": 768}


def test_where_nothing_tells_memory_nothing_is_told():
    assert memory_samples.resident_mib(2**22 + 5) is None


def test_a_report_holds_nothing_of_this_machine_and_no_nan():
    root = Path("/work/somewhere/release")
    words = reports_written.words_of_this_machine(root)
    said = {
        "reason": f"can't open {root}/config.json on {socket.gethostname()} of {os.path.expanduser('~')}/x",
        "value": math.nan,
        "text": "\ud800",
    }
    found = reports_written.plain({"rows": [said]}, {**words, "a-host-name": "HOST"})
    (row,) = found["rows"]
    assert "./config.json" in row["reason"]
    assert str(root) not in row["reason"]
    assert row["value"] == "nan"
    assert row["text"].encode()
