"""What answers when a release is validated, one file each: transformers in this process, a server that is started, one that runs.

An engine is asked in the suite's own words (suites.Request) and answers with an Answer, or raises EngineFault. What it does
not take it says in `kinds`: nothing is asked of it then, and the check is skipped by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hubrelease.suites import Request, Suite


class EngineFault(Exception):
    """The engine failed. `ended`: it answers nothing any more, so what is left can't be run."""

    def __init__(self, message: str, *, ended: bool = False) -> None:
        super().__init__(message)
        self.message, self.ended = message, ended


class Missing(EngineFault):
    """What the engine needs is not on this machine, which says nothing about the release. `kind` is of codes.py."""

    def __init__(self, message: str, mend: str, kind: str = "tool-missing") -> None:
        super().__init__(message, ended=True)
        self.mend, self.kind = mend, kind


@dataclass(frozen=True)
class Answer:
    """What came back. `entropies`: of the distribution before each token, as a share of a uniform guess; None where not told.

    `logprobs` are those of the tokens that were chosen, NaN and infinities included. `decisions` is the answers object of
    the decision API.
    """

    text: str = ""
    seconds: float = 0.0
    prompt_tokens: int | None = None
    tokens: int | None = None
    reasoning: str = ""
    tool: Mapping[str, Any] | None = None
    logprobs: tuple[float, ...] | None = None
    entropies: tuple[float, ...] | None = None
    decisions: Mapping[str, Any] | None = None
    chunks: int = 0


@dataclass(frozen=True)
class Facts:
    """What an engine tells of itself, for the report. `load`: of its loading, where it knows: missing and unexpected tensors."""

    name: str
    version: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    backends: Mapping[str, str] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    load: Mapping[str, Any] | None = None


class Engine(Protocol):
    """`kinds`: of KINDS, what it can be asked. `pid` is the process whose memory is its own; None where that is elsewhere."""

    kinds: frozenset[str]
    pid: int | None

    def start(self, suite: Suite) -> Mapping[str, Any]:
        """Makes it ready; what was measured by that. Raises EngineFault."""

    def facts(self) -> Facts: ...

    def ask(self, request: Request, stream: bool = False) -> Answer:
        """Raises EngineFault."""

    def count(self, text: str) -> int | None:
        """Tokens of a text; None where it can't tell."""

    def close(self) -> None:
        """Ends what it started. Never raises."""
