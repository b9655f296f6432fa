"""Packaging and verifying need no torch, triton, flashinfer, transformers or numpy; asking for help needs next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tiny
import tiny_upstream
from specs import LOCAL, folder

from hubrelease.commands import COMMANDS

BLOCKED = ("torch", "triton", "flashinfer", "transformers", "numpy", "vllm", "sklearn", "pandas")
HEAVY = ("rich", "yaml", "jsonschema", "huggingface_hub", "cryptography", "jinja2", "httpx", "httpx2")
PRELUDE = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked by this test", name=name)

sys.meta_path.insert(0, Blocked())
"""


def python(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, in which the machine-learning packages can't be imported."""
    words = [sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=dict(os.environ))


def test_the_block_blocks() -> None:
    done = python("import numpy")
    assert "is blocked by this test" in done.stderr


def test_every_command_has_help_without_them() -> None:
    program = """
import contextlib, io
from hubrelease import commands
for name in commands.COMMANDS:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = commands.run([name, "--help"], name, False, False)
    assert code == 0 and "Usage: hubrelease " + name in out.getvalue(), name
print("all")
"""
    done = python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all\n", "")


def test_a_whole_release_is_checked_built_and_verified_without_them(tmp_path: Path) -> None:
    root = folder(tmp_path / "p", {**LOCAL, "benchmarks": [{"receipt": "r.json"}]}, r__json="{}")
    tiny.write(root / "base", tiny_upstream.base())
    program = """
import sys
from hubrelease import commands
root, out = sys.argv[1:]
for words in (["pin", root], ["check", root], ["build", root, "--out", out], ["verify", out], ["card", "render", root, "--check", "--tree", out], ["seal", out], ["doctor"]):
    sys.argv = ["hubrelease", *words, "--json"]
    print(words[0], commands.run(sys.argv[1:], words[0], True, False), file=sys.stderr)
"""
    done = python(program, root, tmp_path / "out")
    assert done.stderr.splitlines() == [
        "pin 0",
        "check 0",
        "build 0",
        "verify 0",
        "card 1",
        "seal 2",
        "doctor 0",
    ]  # no README.md there, no release.yaml


def test_importing_costs_nothing() -> None:
    assert loaded("import hubrelease, hubrelease.commands, hubrelease.errors, hubrelease.verify_release").isdisjoint((*HEAVY, *BLOCKED))


def test_asking_for_help_loads_nothing_that_help_does_not_need() -> None:
    assert loaded(run(["--help"], ["--version"], [], ["no-such-command"])).isdisjoint((*HEAVY, *BLOCKED))


def test_help_of_the_commands_loads_neither_the_hubs_client_nor_templates() -> None:
    found = loaded(run(*([name, "--help"] for name in COMMANDS)))
    assert found.isdisjoint(("huggingface_hub", "cryptography", "rich", "jsonschema", "jinja2", *BLOCKED))


def test_verifying_loads_neither_the_hubs_client_nor_templates(tmp_path: Path) -> None:
    root = tiny.release(tmp_path / "r")
    assert loaded(run(["verify", str(root)])).isdisjoint(("huggingface_hub", "jinja2", "jsonschema", *BLOCKED))


def run(*lines: list[str]) -> str:
    """A program that runs command lines, one after the other."""
    return f"""
import contextlib, io
from hubrelease import commands
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    for words in {lines!r}:
        commands.run(words, "", False, False)
"""


def loaded(program: str) -> set[str]:
    """Top-level packages that are loaded after a program."""
    done = python(program + "\nimport json, sys\nprint(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))")
    assert done.returncode == 0, done.stderr
    found: Any = json.loads(done.stdout)
    return set(found)
