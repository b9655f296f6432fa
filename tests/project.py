"""A folder with a release.yaml, as its author works in it: write the spec, run `hubrelease` in a process of its own, look at what it said."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from hubrelease import commands

HUBRELEASE = Path(sys.executable).parent / "hubrelease"
UPSTREAM = "upstream/tiny"
SPEC: dict[str, Any] = {
    "schema": 1,
    "name": "owner/tiny-release",
    "version": "1.0.0",
    "license": "apache-2.0",
    "sources": {"base_model": {"hf": UPSTREAM}},
    "weights": {"format": "bf16"},
}


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, the one JSON object of its standard output, everything that it said."""

    code: int
    value: dict[str, Any]
    said: str

    @property
    def problems(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.value.get("problems") or self.value.get("findings") or []
        return found

    @property
    def kinds(self) -> list[str]:
        return [p["kind"] for p in self.problems]

    def only(self) -> dict[str, Any]:
        """The one problem. AssertionError where there is none, or more."""
        assert len(self.problems) == 1, self.said
        assert "Traceback" not in self.said
        return self.problems[0]

    def good(self) -> Ended:
        assert self.code == 0, self.said
        return self


@dataclass
class Project:
    """`folder` holds release.yaml, `env` is the environment of every command.

    Commands run in a process each, for the Hub's client reads its settings when it is imported; with `here` they run in
    this process, which is ten times as fast and right where no Hub is asked.
    """

    folder: Path
    env: dict[str, str]
    document: dict[str, Any] = field(default_factory=dict)
    here: bool = False

    def spec(self, **changes: Any) -> Project:
        """Writes release.yaml: SPEC with these top-level keys replaced. JSON is YAML."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.document = {**SPEC, **changes}
        (self.folder / "release.yaml").write_text(json.dumps(self.document, indent=1))
        return self

    def sources(self, **sources: Mapping[str, Any]) -> Project:
        return self.spec(**{**self.document, "sources": sources})

    def run(self, command: str, *arguments: str | Path, cwd: Path | None = None, umask: int = -1, **env: str) -> Ended:
        """`hubrelease command … --json`."""
        if self.here:
            return run_here(self.env | env, command, *arguments)
        return run(self.env | env, command, *arguments, cwd=cwd, umask=umask)

    def pin(self, *arguments: str, **env: str) -> Ended:
        return self.run("pin", self.folder, *arguments, **env)

    def build(self, *arguments: str | Path, out: Path | None = None, **env: str) -> Ended:
        return self.run("build", self.folder, "--out", out or self.out, *arguments, **env)

    @property
    def near(self) -> Project:
        """The same project for commands that ask no Hub: see `here`."""
        return replace(self, here=True)

    @property
    def out(self) -> Path:
        return self.folder.parent / "out"

    @property
    def lock_file(self) -> Path:
        return self.folder / "release.lock.json"

    def locked(self, name: str = "base_model") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.lock_file.read_bytes())["sources"][name]
        return found


def run(env: Mapping[str, str], command: str, *arguments: str | Path, cwd: Path | None = None, umask: int = -1) -> Ended:
    words = [str(HUBRELEASE), command, *map(str, arguments), "--json"]
    done = subprocess.run(words, env=dict(env), cwd=cwd, umask=umask, capture_output=True, text=True, timeout=120, check=False)
    return ended(done.returncode, done.stdout, done.stderr)


def run_here(env: Mapping[str, str], command: str, *arguments: str | Path) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, env, clear=True), redirect_stdout(out), redirect_stderr(err):
        code = commands.run([command, *map(str, arguments), "--json"], command, True, False)
    return ended(code, out.getvalue(), err.getvalue())


def ended(code: int, out: str, err: str) -> Ended:
    try:
        value = json.loads(out)
    except ValueError:
        value = {}
    return Ended(code, value, out + err)


def project(home: Path, env: Mapping[str, str] | None = None, here: bool = False) -> Project:
    """A project in `home`, with caches of its own. `env`: of a Hub; else one in which no Hub can be reached."""
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    return Project(home / "project", {**(env or plain), "XDG_CACHE_HOME": str(home / "cache")}, here=here).spec()


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, links as what they lead to."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
