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
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hubrelease
from hubrelease import commands, verify_release
from hubrelease.verify_release import CODES

FIELDS = {"code", "kind", "severity", "file", "pointer", "line", "tensor", "message", "mend"}
WORDS = {0: "good", 1: "bad", 3: "undecided", 4: "bad"}


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
    def kinds(self) -> set[str]:
        return {f["kind"] for f in self.findings}

    @property
    def errors(self) -> set[tuple[str, str]]:
        """(kind, file) of each error."""
        return {(f["kind"], f["file"]) for f in self.findings if f["severity"] == "error"}

    def only(self) -> dict[str, Any]:
        """The one finding."""
        assert len(self.findings) == 1, self.text
        return self.findings[0]


def both(folder: str | os.PathLike[str], *options: str) -> Said:
    """What `hubrelease verify` says of a folder, after both verifiers have been held against the contract and each other.

    `options` go to hubrelease alone; verdicts are compared where there are none.
    """
    main = hubrelease_verify(folder, *options)
    alone = stand_alone(folder)
    mine = {
        (f["kind"], f["severity"], f["file"], f["message"]) for f in main.findings if f["kind"] in CODES or f["kind"] not in KNOWN_ALONE
    }
    theirs = {(f["kind"], f["severity"], f["file"], f["message"]) for f in alone.findings}
    if not options:
        extra = {row for row in mine - theirs if row[0] in CODES}
        assert not extra and not theirs - mine, f"they differ: {mine ^ theirs}"
        if mine == theirs:
            assert main.code == alone.code
        assert main.value["checked"]["files"] == alone.value["checked"]["files"]
        assert main.value["release"] == alone.value["release"]
    return main


KNOWN_ALONE: set[str] = set()


def hubrelease_verify(folder: str | os.PathLike[str], *options: str) -> Said:
    arguments = ["verify", os.fspath(folder), *options]
    code, out = captured(lambda: commands.run([*arguments, "--json"], "verify", True, False))
    text_code, text = captured(lambda: commands.run(arguments, "verify", False, False))
    assert code == text_code
    return kept(Said(code, strict(out), text), "verify")


def stand_alone(folder: str | os.PathLike[str], *options: str) -> Said:
    arguments = [os.fspath(folder), *options]
    code, out = captured(lambda: verify_release.main([*arguments, "--json"]))
    text_code, text = captured(lambda: verify_release.main(arguments))
    assert code == text_code
    return kept(Said(code, strict(out), text), "verify_release")


def captured(call: Any) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = int(call())
    return code, out.getvalue()


def kept(said: Said, command: str) -> Said:
    """`said`, after what contract.md 2 promises of every answer has been asserted."""
    value = said.value
    assert set(value) >= {"schemaVersion", "command", "verdict", "exitCode", "release", "findings", "checked"}
    assert (value["schemaVersion"], value["command"], value["exitCode"]) == (1, command, said.code)
    assert value["verdict"] == WORDS[said.code]
    assert set(value["release"]) == {"name", "releaseDigest", "payloadDigest"}
    for finding in value["findings"]:
        assert set(finding) == FIELDS
        assert re.fullmatch(r"HR[1-7]\d\d", finding["code"])
        assert CODES.get(finding["kind"], finding["code"]) == finding["code"]
        assert finding["severity"] in ("error", "warning")
        assert finding["message"] and finding["mend"]
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
def as_nobody() -> Iterator[None]:
    """The block runs as a user who may not read everything. Files must lie where that user can get at them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def verify(folder: str | os.PathLike[str], **options: Any) -> Any:
    return hubrelease.verify(Path(folder), **options)
