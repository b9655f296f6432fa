"""A server that is started for a validation: in a session of its own, its words in a file, ended with all its children."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hubrelease.engines import EngineFault, Missing

PATIENCE_S = 20.0
TAIL_BYTES = 2**17  # vLLM's first error stands a hundred lines before its last
PREFIX = re.compile(r"^\([^)]* pid=\d+\) (?:[A-Z]+ [^]]*\] )?")  # vLLM's, of each line
ABSENT = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
RAISED = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception): \S")
SHOWN = 400
MEND = "install what the release's runtime needs (runtime/requirements.lock), or run `hubrelease validate` in its image (--print-job)"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Process:
    """`env` adds to this process's own environment; nothing may be fetched. `own`: modules that the server itself brings."""

    def __init__(self, words: Sequence[str], folder: Path, env: Mapping[str, str] | None = None, own: frozenset[str] = frozenset()) -> None:
        self.own = own
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  closed in `end`
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
        try:
            self.child = subprocess.Popen(
                list(words), cwd=folder, env={**os.environ, **offline, **(env or {})}, stdin=subprocess.DEVNULL, stdout=self.log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self.log.close()
            raise EngineFault(f"{words[0]} could not be started: {error.strerror}", ended=True) from None

    @property
    def pid(self) -> int:
        return self.child.pid

    def alive(self) -> None:
        """Raises EngineFault with its last words where it has ended."""
        code = self.child.poll()
        if code is not None:
            words = self.last_words()
            if (found := ABSENT.search(words)) and found[1] not in self.own:
                raise Missing(f"the server needs {found[1]}, which is not installed here", MEND)
            said = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise EngineFault(f"the server ended ({said}): {words}", ended=True)

    def wait(self, seconds: float) -> None:
        """Until it has ended, or so long."""
        with suppress(subprocess.TimeoutExpired):
            self.child.wait(seconds)

    def last_words(self) -> str:
        """The first and the last error that it told of, else its last lines: a server's last error may only say that there was one."""
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - TAIL_BYTES))
        text = self.log.read().decode("utf-8", "replace")
        lines = [line for raw in text.splitlines() if (line := PREFIX.sub("", raw).strip())]
        raised = [n for n, line in enumerate(lines) if RAISED.match(line)]
        told = dict.fromkeys([whole(lines, raised[0]), whole(lines, raised[-1])]) if raised else [" | ".join(lines[-4:])[-SHOWN:]]
        return " | ".join(told) or "it said nothing"

    def end(self) -> None:
        """Asks, waits, then kills the whole session; at once where somebody does not want to wait (a second Ctrl-C)."""
        try:
            self.sign(signal.SIGTERM)
            self.wait(PATIENCE_S)
        finally:
            self.sign(signal.SIGKILL)  # children that outlived it too
            self.wait(PATIENCE_S)
            self.log.close()

    def sign(self, number: int) -> None:
        """To the whole session."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, number)


def whole(lines: list[str], number: int) -> str:
    """An error, with the lines after it that it announces."""
    more = lines[number + 1 : number + 3] if lines[number].endswith(":") else []
    return " ".join([lines[number], *more])[:SHOWN]
