"""The command line: one JSON object, exit codes, the nearest word, no traceback but for a bug, any terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
import tiny
from command_line import Cli, Said
from specs import LOCAL, MINIMAL, folder, local
from verifying import harmless, strict

from hubrelease.commands import COMMANDS, group
from hubrelease.errors import CheckFailed, ConflictError, Exit, OutsideError, ReleaseError, SignatureError, SpecError, Where, problem

HUBRELEASE = Path(sys.executable).parent / "hubrelease"


def leaves() -> Iterator[tuple[str, ...]]:
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        yield from ((name, inner) for inner in command.commands) if isinstance(command, click.Group) else [(name,)]


LEAVES = list(leaves())
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def one_object(said: Said) -> dict[str, Any]:
    """Exactly one JSON object on standard output, and the exit code in it."""
    value = strict(said.out)
    assert value["schemaVersion"] == 1
    assert value["exitCode"] == said.code
    return value


def module(name: str) -> Any:
    return import_module(f"hubrelease.commands.{COMMANDS[name][0]}")


# ----------------------------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_has_help_with_an_example(cli: Cli, words: tuple[str, ...]) -> None:
    for option in ("--help", "-h"):
        said = cli(*words, option)
        assert (said.code, said.err) == (0, "")
        assert f"Usage: hubrelease {' '.join(words)} " in said.out
        assert f"Example: hubrelease {' '.join(words)}" in " ".join(said.out.split())


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_takes_json_and_quiet(words: tuple[str, ...]) -> None:
    found: Any = group.get_command(click.Context(group), words[0])
    found = found.commands[words[1]] if len(words) > 1 else found
    assert {"--json", "-q", "--quiet"} <= {option for parameter in found.params for option in parameter.opts}


def test_the_help_lists_every_command_and_exit_code(cli: Cli) -> None:
    out = cli("--help").out
    assert all(re.search(rf"^  {name} +\S", out, re.M) for name in COMMANDS)
    assert all(str(int(code)) in out for code in Exit)


def test_an_example_of_the_help_is_a_command_line_that_is_understood() -> None:
    """Options and arguments of the examples exist; what they name need not."""
    for words in LEAVES:
        command: Any = group.get_command(click.Context(group), words[0])
        command = command.commands[words[1]] if len(words) > 1 else command
        line = command.epilog.removeprefix("Example: hubrelease ").split("\n")[0].split(" && ")[0].split(" | ")[0].split()[len(words) :]
        line = line[: line.index(">")] if ">" in line else line
        command.make_context(" ".join(words), line)


def test_the_version_is_told(cli: Cli, process: Cli) -> None:
    for said in (cli("--version"), process("--version")):
        assert (said.code, said.err) == (0, "")
        assert re.fullmatch(r"hubrelease \d+\.\d+\.\d+\S*\n", said.out)


def test_without_a_command_the_help_is_shown(cli: Cli) -> None:
    said = cli()
    assert said.code == 2
    assert "Commands:\n" in said.out + said.err
    assert "\\u{a}" not in said.out + said.err


# --------------------------------------------------------------------------------------------------------------- one object


def test_a_good_end_is_one_object(tmp_path: Path, cli: Cli) -> None:
    root = local(tmp_path / "p")
    out = tmp_path / "out"
    for words in (
        ["check", root],
        ["pin", root],
        ["pin", root, "--outdated"],
        ["build", root, "--out", out],
        ["verify", out],
        ["card", "render", root],
        ["doctor"],
    ):
        said = cli(*words, "--json")
        assert one_object(said)["command"].split()[0] == words[0]
        assert (said.code, said.err) == (0, "")


def test_problems_are_one_object(tmp_path: Path, cli: Cli) -> None:
    said = cli("check", folder(tmp_path, {**MINIMAL, "nmae": 1, "version": 5.5}), "--json")
    value = one_object(said)
    assert (said.code, said.err) == (2, "")
    assert [(p["code"], p["file"], p["line"], p["pointer"], p["severity"]) for p in value["problems"]] == [
        ("HR104", "release.yaml", 9, "/nmae", "error")
    ]
    assert set(value["problems"][0]) >= {"code", "kind", "severity", "file", "pointer", "line", "tensor", "message", "mend"}


@pytest.mark.parametrize("words", [["check", "--bogus"], ["check", "a", "b"], ["build", "."], ["build", ".", "--out", "x", "--jobs", "0"], ["bogus"], ["card"], ["card", "bogus"], ["seal"]], ids=" ".join)  # fmt: skip
def test_a_usage_error_is_one_object(cli: Cli, words: list[str]) -> None:
    said = cli(*words, "--json")
    value = one_object(said)
    assert (said.code, said.err) == (2, "")
    assert [p["kind"] for p in value["problems"]] == ["usage"]
    assert "--help" in value["problems"][0]["mend"]


def test_a_bug_is_one_object_and_its_traceback_is_on_standard_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("check"), "check", lambda release: 1 / 0)
    said = cli("check", "--json")
    assert one_object(said)["error"] == "ZeroDivisionError: division by zero"
    assert said.code == 70
    assert "Traceback" in said.err
    assert "bug in hubrelease" in said.err


def test_a_bug_keeps_its_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("check"), "check", lambda release: 1 / 0)
    said = cli("check")
    assert (said.code, said.out) == (70, "")
    assert "ZeroDivisionError" in said.err


def test_a_bug_in_a_process_of_its_own() -> None:
    program = "from hubrelease import commands; import hubrelease.commands.doctor as m; m.examine = lambda: 1 / 0; commands.main()"
    done = subprocess.run([sys.executable, "-c", program, "doctor", "--json"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, json.loads(done.stdout)["exitCode"]) == (70, 70)


# ------------------------------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("error", "code"), [(CheckFailed, 1), (SpecError, 2), (OutsideError, 3), (SignatureError, 4), (ConflictError, 5)], ids=lambda value: getattr(value, "__name__", value)
)  # fmt: skip
def test_each_kind_of_end_has_its_exit_code(cli: Cli, monkeypatch: pytest.MonkeyPatch, error: type[ReleaseError], code: int) -> None:
    def fail(release: str) -> None:
        raise error([problem("spec-invalid", Where("x", 3, "/a"), "is wrong", "mend it"), problem("usage", "y", "is wrong too", "mend it")])

    monkeypatch.setattr(module("check"), "check", fail)
    said = cli("check", ".")
    assert (said.code, said.out) == (code, "")
    assert said.err == "x:3 /a: HR103 is wrong\n  mend: mend it\ny: HR199 is wrong too\n  mend: mend it\n2 problems.\n"
    assert one_object(cli("check", ".", "--json"))["exitCode"] == code


def test_check_tells_ready_not_ready_and_not_understood_apart(tmp_path: Path, cli: Cli) -> None:
    root = local(tmp_path / "p")
    assert cli("check", root).code == 0
    (root / "release.lock.json").unlink()
    assert (cli("check", root).code, cli("check", root, "--json").kinds) == (1, ["lock-stale"])
    (root / "release.yaml").write_text("schema: 1\n")
    assert cli("check", root).code == 2


def test_check_says_everything_at_once(tmp_path: Path, cli: Cli) -> None:
    table = {
        "title": "t",
        "columns": ["a", "b"],
        "rows": [["x", {"receipt": "benchmarks/r.json", "pointer": "/absent"}], ["y", {"payload": "weights", "pointer": "/tensors"}]],
    }
    root = local(tmp_path / "p")
    folder(root, {**LOCAL, "license": "mit", "waive": [{"code": "HR216", "reason": "because I say so"}], "files": [{"from": "absent.txt", "to": "a"}],
                  "side_files": {"omit": [{"path": "nothing.*", "reason": "is not there"}]}, "benchmarks": [{"receipt": "r.json"}],
                  "card": {"tables": [table], "text": {"nowhere": "x"}}}, r__json="{}")  # fmt: skip
    said = cli("check", root, "--json")
    assert said.code == 1
    assert sorted(said.kinds) == [
        "figure-fault",
        "license-undeclared",
        "local-file-missing",
        "omission-undeclared",
        "template-fault",
        "waiver-fault",
    ]


def test_check_looks_for_activation_scales_beside_the_spec(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path, {**LOCAL, "weights": {"format": "nvfp4", "activation_scales": {"path": "scales.json"}}})
    assert [p["pointer"] for p in cli("check", root, "--json").problems if p["kind"] == "local-file-missing"] == [
        "/weights/activation_scales/path"
    ]


def test_check_knows_the_options_of_a_format(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path, {**LOCAL, "weights": {"format": "fp8_block", "options": {"no_such_option": 1}}})
    assert [p["pointer"] for p in cli("check", root, "--json").problems if p["kind"] == "spec-invalid"] == ["/weights/options"]


def test_check_reads_receipts_before_anything_is_pinned(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path, {**LOCAL, "benchmarks": [{"receipt": "r.json"}]}, r__json="{NaN}")
    assert cli("check", root, "--json").kinds == ["lock-stale", "receipt-unreadable"]


def test_check_of_weights_that_lie_beside_the_spec_points_to_seal(tmp_path: Path, cli: Cli) -> None:
    said = cli("check", folder(tmp_path, MINIMAL))
    assert said.code == 0
    assert f"next: hubrelease seal {tmp_path}" in said.out


def test_the_next_step_can_be_pasted_whatever_the_folder_is_called(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path / "my model; rm", MINIMAL)
    assert f"next: hubrelease seal '{root}'" in cli("check", root).out


def test_check_sees_a_licence_link_that_sealing_would_refuse(tmp_path: Path, cli: Cli) -> None:
    spec = {**MINIMAL, "license": "other", "license_name": "mine", "license_link": "LICENSE"}
    said = cli("check", folder(tmp_path, spec), "--json")
    assert [(p["kind"], p["pointer"]) for p in said.problems] == [("card-license", "/license_link")]
    (tmp_path / "LICENSE").write_text("Do as you like.\n")
    assert cli("check", tmp_path).code == 0


def test_pin_without_sources_says_so_and_points_to_seal(tmp_path: Path, cli: Cli) -> None:
    said = cli("pin", folder(tmp_path, MINIMAL))
    assert "nothing to pin" in said.out
    assert f"next: hubrelease seal {tmp_path}" in said.out


def test_build_without_a_source_for_the_weights_points_to_seal(tmp_path: Path, cli: Cli) -> None:
    said = cli("build", folder(tmp_path, MINIMAL), "--out", tmp_path / "out")
    assert "hubrelease seal" in said.err
    assert "No release was made." in said.out


def test_a_receipt_that_can_not_be_read_is_undecided(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder(tmp_path, {**MINIMAL, "benchmarks": [{"receipt": "r.json"}]}, r__json="{}")
    plain = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "r.json":
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert cli("card", "render", root).code == 3
    assert cli("check", root).code == 3


# ------------------------------------------------------------------------------------------------------------------ quiet


def test_quiet_prints_problems_only(tmp_path: Path, cli: Cli) -> None:
    root = local(tmp_path / "p")
    for option in ("-q", "--quiet"):
        for words in (["check", root], ["pin", root], ["build", root, "--out", tmp_path / "out"], ["verify", tmp_path / "out"]):
            said = cli(*words, option)
            assert (said.code, said.out, said.err) == (0, "", "")
    said = cli("check", tmp_path, "-q")
    assert (said.code, said.out) == (2, "")
    assert "HR103" in said.err


# ----------------------------------------------------------------------------------------------------------- the nearest


@pytest.mark.parametrize(
    ("wrong", "right"), [("veryfy", "verify"), ("buid", "build"), ("chek", "check"), ("cards", "card"), ("docter", "doctor")]
)
def test_an_unknown_command_gives_the_nearest(cli: Cli, wrong: str, right: str) -> None:
    said = cli(wrong)
    assert said.code == 2
    assert repr(right) in said.err


@pytest.mark.parametrize(("words", "right"), [(["check", "--jsn"], "--json"), (["build", ".", "--ofline"], "--offline"), (["card", "render", "--chek"], "--check"), (["card", "rendr"], "render"), (["pin", "--updat", "x"], "--update")])  # fmt: skip
def test_an_unknown_option_gives_the_nearest(cli: Cli, words: list[str], right: str) -> None:
    said = cli(*words)
    assert said.code == 2
    assert right in said.err
    assert "Traceback" not in said.err


# ---------------------------------------------------------------------------------------------------- pipes and signals


def big(root: Path) -> Path:
    """A spec of which there is much to say."""
    return folder(root, {**MINIMAL, **{f"unknown_{n}": n for n in range(3000)}})


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_that_goes_away_changes_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    words = [HUBRELEASE, "check", big(tmp_path), *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        said = running.stderr.read().decode()
        assert running.wait(60) == 2
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_a_full_disk_is_not_called_good(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [HUBRELEASE, "check", folder(tmp_path, MINIMAL)], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_control_c_leaves_no_traceback(options: list[str]) -> None:
    """The signal comes while a command is at work."""
    program = (
        "import sys, time; from hubrelease import commands; import hubrelease.commands.doctor as m\n"
        "m.examine = lambda: (print('at work', file=sys.stderr, flush=True), time.sleep(60))\n"
        "commands.main()"
    )
    words = [sys.executable, "-c", program, "doctor", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        assert running.stdout
        assert running.stderr.readline() == "at work\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, "")
    assert err.strip() == "interrupted; run the same command again to go on"


# ------------------------------------------------------------------------------------------------------------- terminals


def test_it_runs_as_a_module_and_as_a_program(tmp_path: Path, process: Cli) -> None:
    root = folder(tmp_path, MINIMAL)
    program = subprocess.run([HUBRELEASE, "check", root], capture_output=True, text=True, check=False, timeout=60)
    said = process("check", root)
    assert (said.code, said.out, said.err) == (program.returncode, program.stdout, program.stderr)
    assert said.code == 0


def test_a_terminal_without_unicode_shows_everything(tmp_path: Path, process: Cli) -> None:
    root = folder(tmp_path / "übung", {**MINIMAL, "card": {"summary": "größer → kleiner 😀"}, "äöü": 1})
    said = process("check", root, **ASCII)
    assert (said.code, said.err.isascii()) == (2, True)
    assert "\\xe4\\xf6\\xfc" in said.err
    folder(root, {**MINIMAL, "card": {"summary": "größer → kleiner 😀"}})
    assert process("card", "render", root, **ASCII).code == 0


def test_json_is_json_in_a_terminal_without_unicode(tmp_path: Path, process: Cli) -> None:
    root = folder(tmp_path, {**MINIMAL, "card": {"summary": "größer → kleiner 😀"}})
    assert "größer → kleiner 😀" in strict(process("card", "render", root, "--json", **ASCII).out)["card"]


def test_every_help_can_be_shown_without_unicode() -> None:
    program = (
        "import sys; from hubrelease import commands\n"
        "for words in [[], *([n] for n in commands.COMMANDS), ['card', 'render']]:\n    assert commands.run([*words, '--help'], '', False, False) == 0"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **ASCII}, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


@pytest.mark.parametrize("name", ["a\x1b[31mb", "::error::x", "a\nb", "\u202egnp", "\udcff", "[bold]x[/bold]", "%s%n"], ids=repr)
def test_names_from_outside_are_harmless_in_a_terminal(tmp_path: Path, cli: Cli, name: str) -> None:
    said = cli("check", tmp_path / name)
    assert said.code == 2
    assert harmless(said.err)
    said = cli("verify", tmp_path / name)
    assert said.code == 3
    assert harmless(said.out + said.err)
    strict(cli("verify", tmp_path / name, "--json").out)
    strict(cli("check", "--" + name, "--json").out)


def test_release_is_a_folder_or_the_file_and_the_current_folder_by_default(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path, MINIMAL)
    monkeypatch.chdir(root)
    assert [cli("check", *words).code for words in ([], ["."], [root], [root / "release.yaml"], ["release.yaml"])] == [0] * 5


def test_a_token_is_never_shown(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 34)
    for words in (["doctor"], ["doctor", "--json"]):
        said = cli(*words)
        assert said.code == 0
        assert "xxxx" not in said.out + said.err
        assert "present (value not shown)" in said.out


def test_doctor_tells_what_is_missing_with_its_mend(cli: Cli) -> None:
    items = one_object(cli("doctor", "--json"))["items"]
    assert {"Python", "huggingface_hub", "torch", "git", "GPU", "Hub token", "network", "cache"} <= {item["what"] for item in items}
    assert all(item["ok"] or item["mend"] for item in items)


def test_verify_of_a_whole_release_says_good(tmp_path: Path, cli: Cli) -> None:
    said = cli("verify", tiny.release(tmp_path / "r"))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("good: ")
