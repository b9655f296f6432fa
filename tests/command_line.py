"""The command line as a test sees it: exit code, standard output, standard error, the one JSON object."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from hubrelease import commands

Cli = Callable[..., "Said"]


@dataclass(frozen=True)
class Said:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def problems(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.value.get("problems") or self.value.get("findings") or []
        return found

    @property
    def kinds(self) -> list[str]:
        return [p["kind"] for p in self.problems]


def in_process(*arguments: str | os.PathLike[str]) -> Said:
    """`hubrelease ARGUMENT …` through its own entry point, with what it printed."""
    words = [os.fspath(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    with mock.patch.object(sys, "argv", ["hubrelease", *words]), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            commands.main()
        except SystemExit as end:
            code = end.code
    return Said(int(code) if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())


def in_subprocess(*arguments: str | os.PathLike[str], **env: str) -> Said:
    """`python -m hubrelease ARGUMENT …` in a process of its own."""
    words = [sys.executable, "-m", "hubrelease", *map(os.fspath, arguments)]
    done = subprocess.run(words, env={**os.environ, **env}, capture_output=True, check=False, timeout=120)
    return Said(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
