"""Both verifiers as users start them: each in a process of its own, with streams that end early, disks that are full, odd locales."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from verifying import harmless, strict

HUBRELEASE = [str(Path(sys.executable).parent / "hubrelease"), "verify"]
ALONE = [sys.executable, str(tiny.VERIFIER_SOURCE)]
BOTH = pytest.mark.parametrize("command", [HUBRELEASE, ALONE], ids=["hubrelease", "alone"])
GUIDE = "docs/guide.txt"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.release(tmp_path_factory.mktemp("good") / "release")


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with one fault of each kind that a name can carry to a terminal."""
    root = tiny.release(tmp_path_factory.mktemp("bad") / "release")
    (root / GUIDE).write_bytes(b"changed")
    for name in (b"a\x1b[2J\n::error::x", b"\xff\xfe", "\u202egpj.py".encode(), b"[bold]x", b" ::error::y"):
        (root / os.fsdecode(name)).write_bytes(b"#!")
    return root


def run(command: list[str], *arguments: str | Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60, **options}
    return subprocess.run([*command, *map(str, arguments)], check=False, **options)  # type: ignore[call-overload,no-any-return]


@BOTH
def test_good_bad_and_undecided(command: list[str], good: Path, bad: Path, tmp_path: Path) -> None:
    for folder, code in ((good, 0), (bad, 1), (tmp_path / "nowhere", 3)):
        done = run(command, folder)
        assert (done.returncode, done.stderr) == (code, b"")
        assert harmless(done.stdout.decode())
        done = run(command, folder, "--json")
        assert (done.returncode, done.stderr) == (code, b"")
        assert strict(done.stdout.decode())["exitCode"] == code


@BOTH
@pytest.mark.parametrize("arguments", [["--bogus"], ["a", "b"], ["--json", "--bogus"]])
def test_a_command_line_that_makes_no_sense(command: list[str], arguments: list[str]) -> None:
    done = run(command, *arguments)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    if command == HUBRELEASE and "--json" in arguments:
        assert strict(done.stdout.decode())["exitCode"] == 2


@BOTH
@pytest.mark.parametrize("option", ["--json", "-q"])
def test_a_reader_that_has_gone_changes_no_verdict(command: list[str], option: str, good: Path, bad: Path) -> None:
    for folder, code in ((good, 0), (bad, 1)):
        read, write = os.pipe()
        os.close(read)
        done = run(command, folder, option, stdout=write)
        os.close(write)
        assert (done.returncode, done.stderr) == (code, b"")


@BOTH
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_answer_that_can_not_be_written_is_not_good(command: list[str], good: Path, bad: Path) -> None:
    for folder, code in ((good, 3), (bad, 1)):
        with open("/dev/full", "wb") as full:
            done = run(command, folder, stdout=full)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr


@BOTH
@pytest.mark.parametrize("stream", [1, 2])
def test_closed_streams(command: list[str], stream: int, good: Path, bad: Path) -> None:
    for folder, code in ((good, 0), (bad, 1)):
        done = run(["sh", "-c", f'exec "$@" {stream}>&-', "sh", *command], folder)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr


@BOTH
def test_a_terminal_that_knows_only_ascii(command: list[str], tmp_path: Path) -> None:
    root = tiny.release(tmp_path / "release", spec={"name": "example-org/été"})
    for name in ("漢字.txt", "é.py"):
        (root / name).write_bytes(b"")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LC_", "LANG"))}
    done = run(command, root, env={**plain, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.isascii()


WATCH = """
import sys
from pathlib import Path
root, command = sys.argv[1], sys.argv[2:]

def hook(event, args):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.rename", "os.remove", "os.link",
                         "os.symlink", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.utime", "pickle.find_class")):
        print("FORBIDDEN", event, args[:1], file=sys.stderr)
    if event == "open" and (any(c in str(args[1]) for c in "wax+") or (args[2] or 0) & 3):
        print("FORBIDDEN write", args, file=sys.stderr)
    if event == "import" and args[1] and str(args[1]).startswith(root):
        print("FORBIDDEN import", args, file=sys.stderr)

if command == ["hubrelease"]:
    from hubrelease.commands import main
    sys.argv = ["hubrelease", "verify", root, "--json"]
    sys.dont_write_bytecode = True
    sys.addaudithook(hook)
    main()
else:
    import runpy
    sys.argv = [command[0], root, "--json"]
    sys.dont_write_bytecode = True
    sys.addaudithook(hook)
    runpy.run_path(command[0], run_name="__main__")
"""


@pytest.mark.parametrize("command", ["hubrelease", str(tiny.VERIFIER_SOURCE)], ids=["hubrelease", "alone"])
def test_verifying_only_reads(command: str, good: Path, bad: Path) -> None:
    """By Python's audit events: no network, no process, no write, no import from the folder."""
    for folder, code in ((good, 0), (bad, 1)):
        done = run([sys.executable, "-c", WATCH, str(folder), command])
        assert (done.returncode, done.stderr) == (code, b"")
        assert strict(done.stdout.decode())["exitCode"] == code


NO_TRACEBACK: dict[str, Callable[[Path], object]] = {
    "deep": lambda root: (root / tiny.PROVENANCE).write_bytes(b"[" * 100_000),
    "digits": lambda root: (root / tiny.PROVENANCE).write_bytes(b"9" * 10_000),
    "fifo": lambda root: ((root / tiny.PROVENANCE).unlink(), os.mkfifo(root / tiny.PROVENANCE)),
    "utf-16": lambda root: (root / tiny.PROVENANCE).write_bytes('{"a": 1}'.encode("utf-16")),
    "surrogates": lambda root: (root / tiny.PROVENANCE).write_bytes(b'{"_type": "\\ud800", "subject": [{"name": "\\udcff"}]}'),
    "config": lambda root: (root / "config.json").write_bytes(b"[" * 100_000),
    "weights": lambda root: (root / "model.safetensors").write_bytes(b"\xff" * 100),
}


@BOTH
def test_no_traceback_anywhere(command: list[str], tmp_path: Path) -> None:
    for label, spoil in NO_TRACEBACK.items():
        root = tiny.release(tmp_path / label)
        spoil(root)
        done = run(command, root, "--json")
        assert (done.returncode, done.stderr) == (1, b""), label
        assert strict(done.stdout.decode())["verdict"] == "bad"
