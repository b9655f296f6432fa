"""hubrelease bench report: tables for people, one JSON object, a file for the card, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Cli
from decision_rows import line, row, two_runs, write

import hubrelease


def test_tables_for_people_and_the_next_step(cli: Cli, tmp_path: Path) -> None:
    baseline, candidate = two_runs(tmp_path, 200)
    said = cli("bench", "report", "--baseline", baseline, "--candidate", candidate)
    assert said.code == 0
    for words in ("200 rows compared; missing 0, extra 0", "ECE", "McNemar", "<=256", ">16,384", "routing", "failed 0, excluded 0, truncated 0",
                  "power limit 395 W at start, 395 W at end", "memory peak 19,968 MiB", "next: "):  # fmt: skip
        assert words in said.out
    assert said.err == ""


def test_the_file_the_json_and_the_python_api_say_the_same(cli: Cli, tmp_path: Path) -> None:
    baseline, candidate = two_runs(tmp_path, 60)
    out = tmp_path / "benchmarks" / "decisionbench-full.json"
    said = cli("bench", "report", "--baseline", baseline, "--candidate", candidate, "-o", out, "--json")
    assert (said.code, said.value["command"], said.value["exitCode"]) == (0, "bench report", 0)
    assert json.loads(out.read_bytes()) == said.value["report"] == hubrelease.bench_report(baseline, candidate)


def test_bad_rows_and_unmatched_ones_are_exit_code_1_and_write_nothing(cli: Cli, tmp_path: Path) -> None:
    good, out = write(tmp_path / "a.jsonl", [row(0), row(1)]), tmp_path / "out.json"
    bad = write(tmp_path / "b.jsonl", [row(0), row(1, label="z")])
    short = write(tmp_path / "c.jsonl", [row(0)])
    for other, code in ((bad, "HR603"), (short, "HR604")):
        said = cli("bench", "report", "--baseline", good, "--candidate", other, "-o", out)
        assert said.code == 1
        assert f"{other.name}" in said.err
        assert code in said.err
    assert not out.exists()
    assert cli("bench", "report", "--baseline", good, "--candidate", short, "--exclude-unmatched", "-o", out).code == 0
    assert json.loads(out.read_bytes())["matching"]["missing"] == 1


def test_a_file_that_is_not_there_is_exit_code_3_and_an_output_over_an_input_2(cli: Cli, tmp_path: Path) -> None:
    good = write(tmp_path / "a.jsonl", [row(0)])
    before = good.read_bytes()
    assert cli("bench", "report", "--baseline", good, "--candidate", tmp_path / "no.jsonl").code == 3
    assert cli("bench", "report", "--baseline", good, "--candidate", good, "-o", good).code == 2
    assert cli("bench", "report", "--baseline", good, "--candidate", good, "-o", tmp_path).code == 3
    assert good.read_bytes() == before


def test_hostile_names_do_not_reach_the_terminal(cli: Cli, tmp_path: Path) -> None:
    odd = "\x1b[2J\u202etask"
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path in files:
        write(path, [row(0, task=odd)], profile="\x1b]0;x\x07")
    said = cli("bench", "report", "--baseline", files[0], "--candidate", files[1])
    assert said.code == 0
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out


def test_runs_without_samples_say_so(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line({"kind": "decision-run", "schemaVersion": 1}) + line(row(0, rotations=None)))
    said = cli("bench", "report", "--baseline", path, "--candidate", path)
    assert "rotations unknown (1 rows); concurrency not recorded; power limit not recorded; memory peak not recorded" in said.out
