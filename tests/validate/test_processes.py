"""Servers that validate starts itself: started on the release, ended with all their children, and their last words told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import tiny
from validating import NO_GPU, h200, kinds, machine, release, report, row

from hubrelease import validator
from hubrelease.engines import EngineFault, _packages
from hubrelease.engines._process import Process
from hubrelease.errors import OutsideError
from hubrelease.validated import Asked

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "src"
VLLM = "runtime_validation.json"


@pytest.fixture
def root(tmp_path):
    return release(tmp_path / "release", asked={"limits": {"start_s": 20, "request_s": 5}})


@pytest.fixture
def vllm(monkeypatch):
    """A package of that name that speaks vLLM's protocol."""
    paths = f"{HERE / 'fake_vllm'}{os.pathsep}{HERE}"
    monkeypatch.setenv("PYTHONPATH", paths)
    monkeypatch.syspath_prepend(str(HERE / "fake_vllm"))


def run(root, device="cuda"):
    with machine(h200() if device == "cuda" else NO_GPU):
        return validator.validate(root, Asked("vllm", device))


def test_vllm_serves_the_release_and_its_report_has_a_file_of_its_own(root, vllm):
    done = run(root)
    assert (done.result, done.file) == ("pass", VLLM)
    found = report(root, VLLM)
    assert found["environment"]["engine"] == {"name": "vllm", "version": "0.9.9"}
    assert found["environment"]["gpus"][0]["computeCapability"] == "9.0"
    assert row(found, "start")["measured"]["readyS"] < 20
    assert found["memory"]["scope"] == "device"
    assert kinds(root) == set()


def test_a_server_that_does_not_start_is_a_failed_release_with_its_last_words(root, vllm, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "crash")
    done = run(root)
    assert (done.result, done.exit) == ("fail", 1)
    assert "driver on your system is too old" in row(report(root, VLLM), "start")["reason"]


def test_of_many_errors_the_first_is_told_for_vllms_last_one_only_says_see_above(root, vllm, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "core")
    run(root)
    reason = row(report(root, VLLM), "start")["reason"]
    assert "ValueError: Available memory on node 0 (20.83/23.54 GiB)" in reason
    assert "See root cause above" in reason
    assert "oneDNN" not in reason


def test_an_error_that_announces_its_reasons_is_told_with_them(root, vllm, monkeypatch):
    """As vLLM 0.32.0 says it on a CPU."""
    monkeypatch.setenv("FAKE_VLLM", "kernel")
    run(root)
    assert "WNA16 linear layer. Reasons: CPUWNA16LinearKernel cannot implement" in row(report(root, VLLM), "start")["reason"]


def test_a_server_that_never_gets_ready_is_a_failed_start_and_is_ended(tmp_path, vllm, monkeypatch):
    root = release(tmp_path / "r", asked={"limits": {"start_s": 3, "request_s": 2}})
    monkeypatch.setenv("FAKE_VLLM", "loading")
    monkeypatch.setenv("FAKE_VLLM_PID", str(tmp_path / "pid"))
    done = run(root)
    assert (done.result, done.exit) == ("fail", 1)
    assert "did not get ready within 3 s" in row(report(root, VLLM), "start")["reason"]
    assert not running(int((tmp_path / "pid").read_text()))


def test_on_a_cpu_vllm_is_kept_from_taking_nearly_all_of_the_memory(root, vllm, monkeypatch):
    """As vLLM 0.32.0 does unasked: it then refuses to start where less than 92 % is free."""
    monkeypatch.setenv("FAKE_VLLM", "cpu")
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    done = run(root, "cpu")
    assert (done.result, done.file) == ("pass", VLLM)
    assert (done.report["environment"]["device"], done.report["environment"]["backends"]) == ("cpu", {"compile": "off"})


def test_a_start_that_fails_is_one_problem_and_not_one_for_each_check_after_it(root, vllm, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "crash")
    failed, rest = run(root).problems
    assert "the check start failed" in failed.message
    assert rest.undecided
    assert "load, requests, streaming" in rest.message
    assert {c["reason"] for c in report(root, VLLM)["checks"] if c["name"] in ("load", "latency")} == {"not run: start was the end"}


def test_a_server_that_dies_later_is_told_and_the_rest_is_skipped(root, vllm, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "dies")
    done = run(root)
    found = report(root, VLLM)
    assert done.result == "fail"
    assert "in the middle of an answer" in row(found, "request:capital")["reason"]
    assert {c["status"] for c in found["checks"] if c["name"] in ("latency", "repetition")} <= {"skipped", "fail"}


def test_a_server_whose_engine_dies_is_told_by_its_last_words_and_not_by_its_500(root, vllm, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "engine")
    done = run(root)
    (failed,) = [c for c in done.report["checks"] if c["status"] == "fail"]
    assert "the server ended (exit code 1): RuntimeError: weight and scale do not fit" in failed["reason"]


def test_its_children_end_with_it(root, vllm, monkeypatch, tmp_path):
    monkeypatch.setenv("FAKE_VLLM", "child")
    monkeypatch.setenv("FAKE_VLLM_CHILD", str(tmp_path / "pid"))
    run(root)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not running(pid):
            return
        time.sleep(0.05)
    pytest.fail("the child is still there")


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_package_that_is_not_installed_is_no_fault_of_the_release(root):
    before = tiny.files_of(root)
    with machine(h200()), pytest.raises(OutsideError, match="vllm is not installed"):
        validator.validate(root, Asked("vllm"))
    assert tiny.files_of(root) == before


def test_a_server_that_lacks_a_package_is_no_fault_of_the_release(root, vllm, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "absent")
    before = tiny.files_of(root)
    with machine(h200()), pytest.raises(OutsideError, match="the server needs torch, which is not installed here") as caught:
        validator.validate(root, Asked("vllm"))
    assert "--print-job" in caught.value.problems[0].mend
    assert tiny.files_of(root) == before


def test_a_server_that_lacks_a_part_of_its_own_is_a_fault_of_the_release(tmp_path):
    words = [sys.executable, "-c", "import engine.load"]
    process = Process(words, tmp_path, own=frozenset(("engine",)))
    process.child.wait(10)
    with pytest.raises(EngineFault, match="No module named 'engine'") as error:
        process.alive()
    assert type(error.value) is EngineFault
    process.end()


def test_vllm_for_cpus_is_a_package_of_another_name(monkeypatch):
    def version(name):
        if name == "vllm-cpu":
            return "0.32.0"
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_packages, "version", version)
    assert _packages.installed() == {"vllm": "0.32.0"}


def test_a_process_tells_how_it_ended(tmp_path):
    process = Process([sys.executable, "-c", "import sys; print('out of luck'); sys.exit(7)"], tmp_path)
    process.child.wait(10)
    with pytest.raises(EngineFault, match=r"exit code 7\): out of luck") as error:
        process.alive()
    assert error.value.ended
    process.end()


def test_whoever_does_not_want_to_wait_for_its_end_leaves_nothing_behind(tmp_path, monkeypatch):
    """A second Ctrl-C while the server is asked to end."""
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    process = Process([sys.executable, "-c", deaf], tmp_path)
    while "up" not in process.last_words():
        time.sleep(0.02)
    waited = process.wait
    calls = []

    def impatient(seconds):
        calls.append(seconds)
        if len(calls) == 1:
            raise KeyboardInterrupt
        waited(seconds)

    monkeypatch.setattr(process, "wait", impatient)
    with pytest.raises(KeyboardInterrupt):
        process.end()
    assert process.child.returncode == -signal.SIGKILL


def test_a_program_that_is_not_there_is_told(tmp_path):
    with pytest.raises(EngineFault, match="could not be started"):
        Process(["/nowhere/python"], tmp_path)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_too_and_leaves_the_release_as_it_was(root, tmp_path, sign):
    """In a process of its own, on a machine whose nvidia-smi tells of a GPU, with a server that never gets ready."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho '0, NVIDIA H200, 9.0, 143771, 700.00, 700.00, 580.65.06'\n")
    smi.chmod(0o755)
    env = {**os.environ, "PATH": f"{smi.parent}:/usr/bin:/bin", "PYTHONPATH": f"{SOURCE}:{HERE / 'fake_vllm'}:{HERE}", "FAKE_VLLM": "loading",
           "FAKE_VLLM_PID": str(tmp_path / "server")}  # fmt: skip
    before = tiny.files_of(root)
    run = subprocess.Popen(
        [sys.executable, "-m", "hubrelease", "validate", str(root), "--runtime", "vllm"], env=env, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(sign, signal.SIG_DFL),  # behind nohup it is ignored, and that is inherited
    )  # fmt: skip
    server = int(appeared(tmp_path / "server", run))
    run.send_signal(sign)
    assert run.wait(30) == 130, run.stderr.read() if run.stderr else ""
    assert not running(server)
    assert tiny.files_of(root) == before


def appeared(file, run):
    for _ in range(600):
        if file.exists() and file.read_text():
            return file.read_text()
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.05)
    raise AssertionError("the server was not started")
