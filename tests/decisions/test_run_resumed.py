"""bench run: whatever is killed whenever, the rows come out as in a run that nobody disturbed, and none is there twice."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from command_line import Cli
from decision_server import DecisionServer, dies, hangs_up, questions, records, rows_of, says, sessions, slow, without_time

from hubrelease.decisions import growing
from hubrelease.decisions import run as running
from hubrelease.decisions.report import compare
from hubrelease.decisions.run import Asked, run
from hubrelease.errors import CheckFailed, OutsideError, ReleaseError

COUNT = 40


@pytest.fixture
def server() -> Iterator[DecisionServer]:
    with DecisionServer() as made:
        made.faults = {"state 7": [says(422, {"error": "too_long", "detail": "x"})] * 99}
        yield made


def asked(folder: Path, server: DecisionServer, name: str = "run.jsonl", count: int = COUNT, **options: Any) -> Asked:
    return Asked(questions(folder, count), server.url, folder / name, **{"warm_up": 0, "timeout_s": 5.0, **options})


@pytest.fixture
def undisturbed(tmp_path: Path, server: DecisionServer) -> Path:
    run(asked(tmp_path, server, "undisturbed.jsonl"))
    server.asked.clear()
    return tmp_path / "undisturbed.jsonl"


def started(folder: Path, server: DecisionServer, *more: str) -> subprocess.Popen[bytes]:
    words = [
        "bench",
        "run",
        "--rows",
        folder / "questions.jsonl",
        "--base-url",
        server.url,
        "-o",
        folder / "run.jsonl",
        "--warm-up",
        "0",
        *more,
    ]
    return subprocess.Popen([sys.executable, "-m", "hubrelease", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_killed_five_times_and_resumed_gives_the_rows_of_an_undisturbed_run(
    tmp_path: Path, server: DecisionServer, undisturbed: Path
) -> None:
    for kill_at in (3, 9, 10, 24, 33):
        process = started(tmp_path, server)
        server.seen = lambda at=kill_at, pid=process.pid: server.asked[f"state {at}"] and os.kill(pid, signal.SIGKILL)  # type: ignore[assignment]
        assert process.wait(60) == -signal.SIGKILL
        process.communicate()
        server.seen = lambda: None
    done = run(asked(tmp_path, server))
    assert (done.rows, done.asked) == (COUNT, COUNT - 33)
    assert without_time(tmp_path / "run.jsonl") == without_time(undisturbed)
    assert sessions(tmp_path / "run.jsonl") == ["start"] * 6 + ["end"]
    assert compare(undisturbed, tmp_path / "run.jsonl")["matching"]["compared"] == COUNT - 1
    assert max(server.asked.values()) == 2, "a row is asked again only where its answer had not been written"


def test_cut_at_any_byte_it_goes_on_to_the_same_rows(tmp_path: Path, server: DecisionServer) -> None:
    undisturbed = tmp_path / "undisturbed.jsonl"
    run(asked(tmp_path, server, undisturbed.name, 10))
    whole = undisturbed.read_bytes()
    header = whole.index(b"\n")
    for cut in [0, 1, header - 1, header, header + 1, *range(header + 7, len(whole), 149), len(whole) - 1]:
        (tmp_path / "run.jsonl").write_bytes(whole[:cut])
        run(asked(tmp_path, server, count=10))
        assert without_time(tmp_path / "run.jsonl") == without_time(undisturbed), cut
        assert compare(undisturbed, tmp_path / "run.jsonl")["candidate"]["run"]["finished"]


def test_several_at_once_killed_and_resumed_leave_no_gap_and_nothing_twice(tmp_path: Path, server: DecisionServer) -> None:
    server.faults = {f"state {n}": [slow(0.03)] for n in range(0, COUNT, 5)}
    options = {"concurrency": 4}
    questions(tmp_path, COUNT)
    process = started(tmp_path, server, "--concurrency", "4")
    server.seen = lambda: server.asked["state 21"] and os.kill(process.pid, signal.SIGKILL)  # type: ignore[assignment]
    process.communicate(timeout=60)
    server.seen = lambda: None
    run(asked(tmp_path, server, **options))
    run(asked(tmp_path, server, "undisturbed.jsonl", **options))
    assert without_time(tmp_path / "run.jsonl") == without_time(tmp_path / "undisturbed.jsonl")


def test_a_finished_run_is_left_as_it_is(tmp_path: Path, server: DecisionServer, undisturbed: Path) -> None:
    before = undisturbed.read_bytes()
    assert run(asked(tmp_path, server, "undisturbed.jsonl")).asked == 0
    assert undisturbed.read_bytes() == before
    assert not server.asked


def test_interrupted_by_the_keyboard_it_ends_at_once_and_says_how_to_go_on(tmp_path: Path, server: DecisionServer) -> None:
    questions(tmp_path, COUNT)
    server.faults = {"state 12": [slow(30)]}
    process = started(tmp_path, server)
    server.seen = lambda: server.asked["state 12"] and os.kill(process.pid, signal.SIGINT)  # type: ignore[assignment]
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"run the same command again to go on" in said
    assert b"Traceback" not in said
    assert len(rows_of(tmp_path / "run.jsonl")) == 12
    assert sessions(tmp_path / "run.jsonl") == ["start", "progress"]


# ------------------------------------------------------------------------------------------------------- the server goes


def test_a_server_that_dies_stops_the_run_before_that_row_and_the_next_goes_on(
    tmp_path: Path, server: DecisionServer, undisturbed: Path
) -> None:
    server.faults["state 5"] = [dies]
    with pytest.raises(OutsideError) as caught:
        run(asked(tmp_path, server))
    assert 'went away at the row "row 5"' in caught.value.problems[0].message
    assert "5 of 40 rows" in caught.value.problems[0].mend
    assert [r["id"] for r in rows_of(tmp_path / "run.jsonl")] == [f"row {n}" for n in range(5)]
    server.start()
    run(asked(tmp_path, server))
    assert without_time(tmp_path / "run.jsonl") == without_time(undisturbed)


def test_a_row_at_which_it_dies_twice_is_a_failed_one(tmp_path: Path, server: DecisionServer) -> None:
    server.faults["state 5"] = [dies] * 9
    for rows in (5, 6):
        with pytest.raises(OutsideError):
            run(asked(tmp_path, server))
        assert len(rows_of(tmp_path / "run.jsonl")) == rows
        server.start()
    assert run(asked(tmp_path, server)).rows == COUNT
    assert "went away again" in rows_of(tmp_path / "run.jsonl")[5]["reason"]
    assert server.asked["state 5"] == 2


def test_among_several_at_once_the_row_that_kills_the_server_is_found(tmp_path: Path, server: DecisionServer) -> None:
    server.faults["state 9"] = [dies] * 9
    ends = 0
    while True:
        try:
            run(asked(tmp_path, server, concurrency=4))
            break
        except OutsideError:
            ends += 1
            server.start()
    assert 2 <= ends <= 3, "once among others, once alone, and once more if another row was the first to be missed"
    assert [row["id"] for row in rows_of(tmp_path / "run.jsonl") if row["status"] != "ok"] == ["row 7", "row 9"]
    assert len(rows_of(tmp_path / "run.jsonl")) == COUNT


def test_another_server_that_took_its_place_stops_the_run(tmp_path: Path, server: DecisionServer) -> None:
    def swapped(handler: Any, body: dict[str, Any]) -> None:
        server.facts["backend"] = "another"
        hangs_up(handler, body)

    server.faults["state 5"] = [swapped]
    with pytest.raises(OutsideError) as caught:
        run(asked(tmp_path, server))
    assert "another server answers there now" in caught.value.problems[0].message
    with pytest.raises(CheckFailed):
        run(asked(tmp_path, server))


def test_a_server_that_changes_without_a_fault_takes_its_rows_with_it(tmp_path: Path, server: DecisionServer) -> None:
    """As behind a proxy: every request is answered, and from some row on by other weights."""
    server.seen = lambda: server.facts.update(payloadDigest="b" * 64) if server.asked["state 9"] else None  # type: ignore[assignment]
    with mock.patch.object(running, "PROGRESS_S", 0.0), pytest.raises(OutsideError) as caught:
        run(asked(tmp_path, server))
    message = caught.value.problems[0].message
    assert "another server answers there now: /payloadDigest was empty and is" in message
    assert "rows since it was last looked at were taken away" in message
    kept = len(rows_of(tmp_path / "run.jsonl"))
    assert 0 < kept <= 9
    assert f"{kept} rows are there" in caught.value.problems[0].mend
    server.seen = lambda: None
    del server.facts["payloadDigest"]
    done = run(asked(tmp_path, server))
    assert (done.rows, done.asked) == (COUNT, COUNT - kept)


def test_that_it_was_the_same_server_is_looked_at_before_the_end(tmp_path: Path, server: DecisionServer) -> None:
    server.seen = lambda: server.facts.update(versions={"torch": "3"}) if server.asked["state 39"] else None  # type: ignore[assignment]
    with pytest.raises(OutsideError, match="/versions/torch was"):
        run(asked(tmp_path, server))
    assert sessions(tmp_path / "run.jsonl") == ["start"]
    assert rows_of(tmp_path / "run.jsonl") == []


# ---------------------------------------------------------------------------------------------------------------- the disk


def test_a_full_disk_leaves_whole_lines_and_the_next_run_goes_on(tmp_path: Path, server: DecisionServer, undisturbed: Path) -> None:
    room, write = 6000, os.write

    def full(fd: int, data: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(fd, data[:room])
        room -= written
        return written

    with mock.patch.object(growing.os, "write", full), pytest.raises(OutsideError) as caught:
        run(asked(tmp_path, server))
    assert "No space left" in caught.value.problems[0].message
    there = len(rows_of(tmp_path / "run.jsonl"))
    assert 3 < there < COUNT
    assert f"row {there + 1}" in caught.value.problems[0].mend
    assert (tmp_path / "run.jsonl").read_bytes().endswith(b"\n")
    run(asked(tmp_path, server))
    assert without_time(tmp_path / "run.jsonl") == without_time(undisturbed)


def test_two_at_once_do_not_write_one_file(tmp_path: Path, server: DecisionServer, undisturbed: Path) -> None:
    with undisturbed.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OutsideError) as caught:
            run(asked(tmp_path, server, "undisturbed.jsonl"))
    assert "another `bench run`" in caught.value.problems[0].message


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, server: DecisionServer) -> None:
    for name in ("", "questions.jsonl/run.jsonl"):
        with pytest.raises(OutsideError):
            run(asked(tmp_path, server, name))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReleaseError):
        run(asked(tmp_path, server, "pipe"))


# ----------------------------------------------------------------------------------------------- another run is not gone on with


def refused(folder: Path, ask: Asked, code: str) -> str:
    """The message of a refusal that left the file as it was."""
    before = ask.out.read_bytes()
    with pytest.raises(CheckFailed) as caught:
        run(ask)
    assert caught.value.problems[0].code == code
    assert ask.out.read_bytes() == before
    return caught.value.problems[0].message


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        ({"model": "other"}, {}, '/model/name was "example-org/tiny" and is "other"'),
        ({"versions": {"torch": "2.14.0"}}, {}, "/packages/torch was"),
        ({"payloadDigest": "a" * 64}, {}, "/model/payloadDigest was empty"),
        ({}, {"concurrency": 2}, "/concurrency was 1 and is 2"),
        ({}, {"limit": 3}, "/dataset/rows was 40 and is 3"),
        ({}, {"profile": "BF16"}, '/profile was empty and is "BF16"'),
        ({}, {"count": 41}, "/dataset/sha256 was"),
    ],
    ids=["model", "package", "payload", "concurrency", "limit", "profile", "questions"],
)
def test_another_server_other_questions_or_other_options_are_refused(
    tmp_path: Path, server: DecisionServer, undisturbed: Path, facts: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    server.facts |= facts
    assert words in refused(tmp_path, asked(tmp_path, server, "undisturbed.jsonl", **options), "HR608")
    assert not server.asked


def test_a_file_that_is_no_rows_file_is_left_alone(tmp_path: Path, server: DecisionServer) -> None:
    for content in (b"my only copy", b"my\nnotes\n", b"{}\n", b'{"kind":"decision-session","event":"start"}\n', b"\xff\n", b"\x00" * 100):
        (tmp_path / "notes").write_bytes(content)
        refused(tmp_path, asked(tmp_path, server, "notes"), "HR603")
    refused(tmp_path, asked(tmp_path, server, "questions.jsonl"), "HR603")


def test_rows_that_were_edited_are_refused(tmp_path: Path, server: DecisionServer, undisturbed: Path) -> None:
    lines = undisturbed.read_bytes().splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([*lines[:3], lines[4], lines[3]]))
    refused(tmp_path, asked(tmp_path, server), "HR608")
    path.write_bytes(b"".join([*lines[:4], lines[3]]))
    refused(tmp_path, asked(tmp_path, server), "HR608")
    path.write_bytes(b"".join([*lines[:3], b"{}\n"]))
    refused(tmp_path, asked(tmp_path, server), "HR603")
    path.write_bytes(b"".join(lines[:-1]) + lines[3])
    refused(tmp_path, asked(tmp_path, server), "HR608")
    for change in ({"label": "false"}, {"task": "another"}, {"type": "score"}, {"candidates": ["false", "true"]}):
        path.write_bytes(b"".join([*lines[:3], json.dumps({**json.loads(lines[3]), **change}).encode() + b"\n"]))
        refused(tmp_path, asked(tmp_path, server), "HR608")
    for session in ({"kind": "decision-session", "event": ["end"]}, {"kind": "decision-session", "event": "end", "lostRow": {}}):
        path.write_bytes(b"".join([*lines[:3], json.dumps(session).encode() + b"\n"]))
        refused(tmp_path, asked(tmp_path, server), "HR603")


def test_rows_that_were_cut_off_before_the_end_are_asked_again(tmp_path: Path, server: DecisionServer, undisturbed: Path) -> None:
    """The last line says that all are there."""
    lines = undisturbed.read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_bytes(b"".join([*lines[:5], lines[-1]]))
    done = run(asked(tmp_path, server))
    assert (done.rows, done.asked) == (COUNT, COUNT - 3)
    assert without_time(tmp_path / "run.jsonl") == without_time(undisturbed)


# --------------------------------------------------------------------------------------------------- memory and power beside

SMI = """#!/bin/sh
n=$(cat {folder}/n 2>/dev/null || echo 0); n=$((n+1)); echo $n > {folder}/n
echo "NVIDIA H200, $((1000 * n)), 300.50, 700.00"
echo "NVIDIA H200, 500, [N/A], 650.00"
"""


def with_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "nvidia-smi").write_text(script.format(folder=folder))
    (folder / "bin" / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr("hubrelease.decisions.sampling.PERIOD_S", 0.02)


def test_memory_and_power_are_sampled_while_rows_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_smi(tmp_path, monkeypatch, SMI)
    with DecisionServer(device={"name": "NVIDIA H200", "computeCapability": "9.0"}) as server:
        server.faults["state 2"] = [slow(0.3)]
        run(asked(tmp_path, server, count=4))
    header, start, *_, end = records(tmp_path / "run.jsonl")
    assert header["environment"] == {"gpus": [{"name": "NVIDIA H200", "computeCapability": "9.0"}]}
    assert start["powerLimitW"] == end["powerLimitW"] == [700.0, 650.0]
    assert start["memory"]["peakMiB"] == 1500.0
    assert end["memory"]["samples"] > 1
    assert end["memory"]["peakMiB"] == 1000 * end["memory"]["samples"] + 500
    assert end["powerDrawW"] == {"mean": 300.5, "peak": 300.5, "samples": end["memory"]["samples"]}
    assert compare(tmp_path / "run.jsonl", tmp_path / "run.jsonl")["candidate"]["run"]["memory"]["scope"] == "device"


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 9\n", "#!/bin/sh\necho nonsense\n", "#!/bin/sh\necho a, b, c, d\n", "no program"], ids=["fails", "nonsense", "words", "no program"])  # fmt: skip
def test_a_sampler_that_fails_fails_nothing(tmp_path: Path, server: DecisionServer, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    with_smi(tmp_path, monkeypatch, script)
    run(asked(tmp_path, server, count=3))
    assert all("memory" not in r and "powerLimitW" not in r for r in records(tmp_path / "run.jsonl"))


def test_gpus_of_this_machine_are_not_those_of_a_server_on_another_device(
    tmp_path: Path, server: DecisionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_smi(tmp_path, monkeypatch, SMI)
    run(asked(tmp_path, server, count=3))
    assert all("memory" not in r for r in records(tmp_path / "run.jsonl"))


def test_the_command_refuses_another_run_with_exit_code_1(tmp_path: Path, server: DecisionServer, undisturbed: Path, cli: Cli) -> None:
    server.facts["backend"] = "another"
    said = cli("bench", "run", "--rows", tmp_path / "questions.jsonl", "--base-url", server.url, "-o", undisturbed, "--json")
    assert (said.code, said.kinds) == (1, ["decision-run-other"])
    assert json.loads(undisturbed.read_bytes().splitlines()[0])["server"]["backend"] == "fake"
