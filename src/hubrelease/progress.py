"""What long work tells whoever watches: bytes or things done, of how many. Silent here; report.py shows it on a terminal."""

from __future__ import annotations


class Progress:
    """Receives progress and shows nothing. Methods may be called from several threads."""

    def start(self, label: str, total_bytes: int | None = None) -> None:
        """A new piece of work; `total_bytes` None where the amount is not known."""

    def start_count(self, label: str, total: int) -> None:
        """A new piece of work that is counted in things."""

    def advance(self, size_bytes: int) -> None:
        """`size_bytes` more are done, or so many things."""

    def note(self, text: str) -> None:
        """A line for the user: a step's name, or why it was skipped."""

    def finish(self) -> None:
        """The current piece of work is over."""


SILENT = Progress()
