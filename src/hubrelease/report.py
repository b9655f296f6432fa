"""The only module that prints: results and problems as text or as one JSON object, progress as a bar.

Text from outside (file names, receipts, servers' answers) is escaped here, in one place: control and bidi characters,
line breaks, a leading `::` (a CI's command) and bytes that are not UTF-8 become visible escapes. Nothing is markup.
Progress and notes go to standard error and only to a terminal; results go to standard output.
"""

from __future__ import annotations

import json
import shlex
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hubrelease.errors import Exit, Problem
from hubrelease.progress import Progress
from hubrelease.verify_release import escape, gb, printable

SHOWN_PER_KIND = 50  # in text; --json has all


@dataclass(frozen=True)
class Outcome:
    """What a command has to say. `lines` for people, `value` for --json, `hint` is the next step.

    `raw` stands in place of lines, and of findings, as it is: text made for another program, which escapes by rules of its own.
    """

    command: str
    exit: Exit = Exit.GOOD
    problems: Sequence[Problem] = ()
    lines: Sequence[str] = ()
    value: Mapping[str, Any] = field(default_factory=dict)
    hint: str | None = None
    problems_key: str = "problems"
    raw: str | None = None


def pasted(*words: object) -> str:
    """A command as it can be pasted into a shell, for `hint`: blanks and the like in paths are quoted."""
    return shlex.join(map(str, words))


def show(outcome: Outcome, as_json: bool, quiet: bool) -> None:
    """Prints an outcome, and nothing else."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if as_json:
        print(json_text(outcome), flush=True)
        return
    if outcome.raw is not None:
        print(outcome.raw, end="" if outcome.raw.endswith("\n") else "\n", flush=True)
    is_result = outcome.problems_key == "findings"
    for line in problem_lines(() if is_result and outcome.raw is not None else outcome.problems):
        print(line, file=sys.stdout if is_result else sys.stderr)
    if outcome.raw is None and not quiet:
        for line in outcome.lines:
            print(escape(line))
        if outcome.hint:
            print(f"next: {escape(outcome.hint)}")
    print(end="", flush=True)


def json_text(outcome: Outcome) -> str:
    value = {
        "schemaVersion": 1,
        "command": outcome.command,
        "exitCode": int(outcome.exit),
        outcome.problems_key: [problem_json(p) for p in outcome.problems],
        **outcome.value,
    }
    plain = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()  # escapes that JSON knows, not the terminal's
    return json.dumps(clean(value), indent=2, ensure_ascii=plain, allow_nan=False)


def clean(value: object) -> object:
    """`value` with valid Unicode in every text."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, (list, tuple)) else value


def problem_json(item: Problem) -> dict[str, Any]:
    where = item.where
    return {
        "code": item.code,
        "kind": item.kind,
        "severity": item.severity,
        "file": where.file,
        "pointer": where.pointer,
        "line": where.line,
        "tensor": where.tensor,
        "message": item.message,
        "mend": item.mend,
    }


def problem_lines(problems: Sequence[Problem]) -> Iterable[str]:
    shown: dict[str, int] = {}
    for item in problems:
        shown[item.kind] = shown.get(item.kind, 0) + 1
        if shown[item.kind] <= SHOWN_PER_KIND:
            yield from problem_text(item)
    for kind, count in shown.items():
        if count > SHOWN_PER_KIND:
            yield f"... and {count - SHOWN_PER_KIND} more {kind} (all of them with --json)"
    if problems:
        errors = sum(p.severity == "error" for p in problems)
        warnings = len(problems) - errors
        counts = [f"{n} {word}{'s' if n != 1 else ''}" for n, word in ((errors, "problem"), (warnings, "warning")) if n]
        yield ", ".join(counts) + "."


def problem_text(item: Problem) -> Iterable[str]:
    where = item.where
    place = where.file + (f":{where.line}" if where.line else "")
    pointer = f" {where.pointer}" if where.pointer else ""
    tensor = f" [{where.tensor}]" if where.tensor else ""
    severity = "" if item.severity == "error" else f" {item.severity}:"
    yield f"{escape(place + pointer + tensor)}: {item.code}{severity} {escape(item.message)}"
    yield f"  mend: {escape(item.mend)}"


def show_bug(error: BaseException) -> None:
    """A bug in hubrelease: its traceback, and where to tell it."""
    traceback.print_exception(error, file=sys.stderr)
    print("This is a bug in hubrelease, not in your release. Please report it with the lines above.", file=sys.stderr)


# ------------------------------------------------------------------------------------------------------------- progress


def progress_for(quiet: bool) -> Progress:
    """A bar on standard error if that is a terminal, else silence."""
    return Bar() if not quiet and sys.stderr is not None and sys.stderr.isatty() else Progress()


class Bar(Progress):
    """rich's bar with bytes and rate, or a count, and time left; appears only when something takes longer than half a second."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.live: Any = None
        self.task: Any = None
        self.label, self.total, self.done, self.began = "", None, 0, 0.0  # type: str, int | None, int, float
        self.in_bytes = True

    def start(self, label: str, total_bytes: int | None = None) -> None:
        self.begin(label, total_bytes, True)

    def start_count(self, label: str, total: int) -> None:
        self.begin(label, total, False)

    def begin(self, label: str, total: int | None, in_bytes: bool) -> None:
        with self.lock:
            self.stop()
            self.label, self.total, self.done, self.began, self.in_bytes = label, total, 0, time.monotonic(), in_bytes

    def advance(self, size_bytes: int) -> None:
        with self.lock:
            self.done += size_bytes
            if self.live is None and time.monotonic() - self.began > 0.5:
                self.open()
            if self.live is not None:
                self.live.update(self.task, completed=self.done)

    def note(self, text: str) -> None:
        with self.lock:
            self.stop()
            print(escape(text), file=sys.stderr)

    def finish(self) -> None:
        with self.lock:
            self.stop()

    def open(self) -> None:
        from rich import progress
        from rich.console import Console
        from rich.markup import escape as no_markup

        amount = (progress.DownloadColumn(), progress.TransferSpeedColumn()) if self.in_bytes else (progress.MofNCompleteColumn(),)
        left = progress.TimeRemainingColumn(compact=True)
        columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), *amount, left)
        self.live = progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.live.add_task(no_markup(escape(self.label)), total=self.total)
        self.live.start()

    def stop(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None


def size_text(size: int) -> str:
    text: str = gb(size)
    return text
