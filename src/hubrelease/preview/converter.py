"""Markdown → safe HTML in a process of its own: some texts take a Markdown parser, or an HTML parser, minutes.

Neither can be interrupted from within, so the child is killed when the time is over, and the next text gets a new one.
"""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from hubrelease.preview import markup, sanitise

SECONDS = 5.0  # the longest of the cards seen takes 0.2
START_S = 60.0  # how long the child may take to import its packages


class TooSlow(Exception):
    """The time is over, or the parser failed."""


class Converter:
    """Holds the child. OutsideError at once where a package is absent."""

    def __init__(self, seconds: float = SECONDS) -> None:
        markup.parser()
        sanitise.clean("")
        self.seconds = seconds
        self.child: SpawnProcess | None = None
        self.line: Connection[Any, Any] | None = None

    def convert(self, body: str, first_line: int) -> tuple[str, dict[str, int]]:
        """(safe HTML, what was left out) of a card's body, whose first line is `first_line` of README.md. TooSlow."""
        line = self.line or self.start()
        try:
            line.send((body, first_line))
            if line.poll(self.seconds):
                html, left_out = line.recv()
                return html, left_out
        except (OSError, EOFError):
            pass  # the child has ended
        self.close()
        raise TooSlow

    def start(self) -> Connection[Any, Any]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self.child, self.line = context.Process(target=serve, args=(theirs,), daemon=True), ours
        self.child.start()
        theirs.close()
        if not ours.poll(START_S):
            self.close()
            raise TooSlow
        ours.recv()
        return ours

    def close(self) -> None:
        if self.child is not None and self.line is not None:
            self.line.close()
            self.child.kill()
            self.child.join()
        self.child = self.line = None


def serve(line: Connection[Any, Any]) -> None:
    """The child: answers texts until its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which then ends this process
    line.send("ready")
    while True:
        try:
            body, first_line = line.recv()
        except EOFError:
            return
        html = markup.to_html(body, first_line)
        line.send((sanitise.clean(html), sanitise.left_out(html)))
