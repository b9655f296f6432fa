"""`hubrelease verify` and the stand-alone verifier on the same folder: what both say, and that they say the same.

Both command lines run in this process with their output captured (a process each would cost a quarter of a second);
tests/test_verify_processes.py starts them as users do. Every call also keeps what holds in every case: exactly one strict
JSON object, the fields of contract.md 2, and text that a terminal or a CI log can't take for anything else.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from hubrelease import commands, report, verify_release
from hubrelease.verify_release import CODES

FIELDS = {"code", "kind", "severity", "file", "pointer", "line", "tensor", "message", "mend"}
WORDS = {0: "good", 1: "bad", 3: "undecided", 4: "bad"}
NOBODY = 65534


@dataclass(frozen=True)
class Said:
    """What a verifier said: exit code, its JSON object, its text."""

    code: int
    value: dict[str, Any]
    text: str

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.value["findings"]
        return found

    @property
    def rows(self) -> set[tuple[str, str, str]]:
        """(kind, severity, file) of each finding."""
        return {(f["kind"], f["severity"], f["file"]) for f in self.findings}

    @property
    def errors(self) -> set[tuple[str, str]]:
        """(kind, file) of each error."""
        return {(kind, file) for kind, severity, file in self.rows if severity == "error"}

    @property
    def warnings(self) -> set[tuple[str, str]]:
        return {(kind, file) for kind, severity, file in self.rows if severity == "warning"}

    def only(self) -> dict[str, Any]:
        """The one finding."""
        assert len(self.findings) == 1, self.text
        return self.findings[0]


def both(folder: str | os.PathLike[str]) -> Said:
    """What both verifiers say of the files of a folder. The other checks of `hubrelease verify`, which look into files, are left out."""
    main, alone = hubrelease_verify(folder), stand_alone(folder)
    assert main.value["release"] == alone.value["release"]
    assert main.value["checked"]["files"] == alone.value["checked"]["files"]
    others = [f for f in main.findings if f not in alone.findings]
    if any(f["severity"] == "error" for f in others):  # of another check: it turns a partial download into missing files
        assert {f["kind"] for f in alone.findings if f not in main.findings} <= {"partial-download"}
    else:
        assert [f for f in main.findings if f not in others] == alone.findings
        assert {f["kind"] for f in others} & CODES.keys() == set()
        assert main.code == alone.code
    return replace(alone, text=main.text)


def hubrelease_verify(folder: str | os.PathLike[str], *options: str) -> Said:
    arguments = ["verify", os.fspath(folder), *options, "--json"]
    with mock.patch.object(commands, "show", wraps=report.show) as shown:
        code, out = captured(lambda: commands.run(arguments, "verify", True, False))
    _, text = captured(lambda: report.show(shown.call_args[0][0], False, False))  # the same outcome as text, without verifying again
    return kept(Said(code, strict(out), text), "verify")


def stand_alone(folder: str | os.PathLike[str], *options: str) -> Said:
    arguments = [os.fspath(folder), *options]
    code, out = captured(lambda: verify_release.main([*arguments, "--json"]))
    text_code, text = captured(lambda: verify_release.main(arguments))
    assert code == text_code
    return kept(Said(code, strict(out), text), "verify_release")


def captured(call: Callable[[], int | None]) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = call()
    return int(code or 0), out.getvalue()


def kept(said: Said, command: str) -> Said:
    """`said`, after what contract.md 2 promises of every answer has been asserted."""
    value = said.value
    assert set(value) == {"schemaVersion", "command", "verdict", "exitCode", "release", "findings", "checked"}
    assert (value["schemaVersion"], value["command"], value["exitCode"]) == (1, command, said.code)
    assert value["verdict"] == WORDS[said.code]
    assert set(value["release"]) == {"name", "releaseDigest", "payloadDigest"}
    assert all(re.fullmatch("[0-9a-f]{64}", value["release"][key]) for key in ("releaseDigest", "payloadDigest"))
    for finding in value["findings"]:
        assert set(finding) == FIELDS
        assert re.fullmatch(r"HR[1-7]\d\d", finding["code"])
        assert CODES.get(finding["kind"], finding["code"]) == finding["code"]
        assert finding["severity"] in ("error", "warning")
        assert finding["message"]
        assert finding["mend"]
    assert harmless(said.text), said.text
    return said


def strict(text: str) -> dict[str, Any]:
    """One JSON object as RFC 8259 and I-JSON have it: no doubled key, no NaN, no lone surrogate."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    value = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    assert isinstance(value, dict)
    return value


def harmless(text: str) -> bool:
    """True if no line of `text` could move a cursor, hide what it says, or be a CI's command."""
    lines = text.split("\n")
    return all(line.isprintable() and not line.lstrip().startswith("::") and not re.search(r"##\w*\[", line) for line in lines)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """The block must not take longer: generous, for what would otherwise take minutes."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@contextlib.contextmanager
def public_folder() -> Iterator[Path]:
    """A scratch folder that every user can get to, unlike pytest's."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        with as_nobody():
            reachable = os.access(folder, os.R_OK | os.X_OK, effective_ids=True)
        if not reachable:
            pytest.skip(f"not every user can get to {folder.parent}")
        yield folder
    finally:
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """The block runs as a user whom file modes bind."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
