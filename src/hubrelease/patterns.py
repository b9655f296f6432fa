"""Regular expressions that come from files of a release, run under a time budget that really interrupts.

`re:` targets, ignore lists, `modules_to_not_convert` and `target_modules` are patterns of a stranger: `(a+)+$` against a
long name runs for years. In the main thread a timer signal ends them (sre looks for signals while it backtracks);
elsewhere a child process does the work and is killed. Several matchers may share one Budget, so that ten thousand slow
patterns cost no more than one.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any

MAX_PATTERN = 10_000  # characters; the longest that a published config holds has some 400
SECONDS = 2.0  # ordinary patterns over 100,000 names take about 50 ms


class PatternTooCostly(Exception):
    """A pattern did not end within its budget."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        super().__init__(f"the pattern {pattern[:100]!r} was stopped: it takes too long")


@dataclass
class Budget:
    """Seconds that may still be spent on patterns."""

    seconds: float = SECONDS
    spent: float = 0.0

    @property
    def left(self) -> float:
        return self.seconds - self.spent


@dataclass
class Matcher:
    """One pattern. `how` is match (from the start, as re.match), fullmatch, search, or fnmatch (shell wildcards).

    `fault` says why the pattern is no regular expression; such a matcher matches nothing.
    """

    pattern: str
    how: str = "match"
    budget: Budget = field(default_factory=Budget)
    fault: str | None = field(default=None, init=False)
    compiled: Callable[[str], Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if len(self.pattern) > MAX_PATTERN:
            self.fault = f"has {len(self.pattern)} characters; {MAX_PATTERN} is the limit"
            return
        text = translate(self.pattern) if self.how == "fnmatch" else self.pattern
        method = "match" if self.how == "fnmatch" else self.how
        try:
            with interrupted(self):
                self.compiled = getattr(re.compile(text), method)
        except (re.error, RecursionError, OverflowError) as error:
            self.fault = f"is no regular expression: {error}"[:200]

    def matches(self, name: str) -> bool:
        """True if the pattern matches `name`. PatternTooCostly if the budget ends first."""
        return bool(self.select((name,)))

    def select(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that match, in their order: the timer is set once for all. PatternTooCostly."""
        found = self.compiled
        if found is None:
            return []
        if threading.current_thread() is not threading.main_thread():
            return select_in_child(self, list(names))
        with interrupted(self):
            return [name for name in names if found(name)]


@contextmanager
def interrupted(matcher: Matcher) -> Iterator[None]:
    """Ends what runs inside once the budget is spent. Someone else's timer is put back with the time that it still has."""
    budget, main = matcher.budget, threading.current_thread() is threading.main_thread()
    if budget.left <= 0:
        raise PatternTooCostly(matcher.pattern)
    start = time.monotonic()
    if not main:
        try:
            yield  # only compiling, whose cost the length bounds
        finally:
            budget.spent += time.monotonic() - start
        return

    running = True

    def stop(*_: object) -> None:
        if running:  # a signal that comes after the work is done must not skip what follows
            raise PatternTooCostly(matcher.pattern)

    handler = signal.signal(signal.SIGALRM, stop)
    other, interval = signal.setitimer(signal.ITIMER_REAL, budget.left)
    try:
        try:
            yield
        finally:
            running = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        spent = time.monotonic() - start
        budget.spent += spent
        if other:
            signal.setitimer(signal.ITIMER_REAL, max(other - spent, 0.001), interval)


CHILD = """import json, re, sys
text, method, names = json.load(sys.stdin)
found = getattr(re.compile(text), method)
json.dump([i for i, name in enumerate(names) if found(name)], sys.stdout)"""


def select_in_child(matcher: Matcher, names: list[str]) -> list[str]:
    """select() for a thread that no signal reaches: a child process that is killed when the budget is spent."""
    budget = matcher.budget
    if budget.left <= 0:
        raise PatternTooCostly(matcher.pattern)
    text = translate(matcher.pattern) if matcher.how == "fnmatch" else matcher.pattern
    asked = json.dumps([text, "match" if matcher.how == "fnmatch" else matcher.how, names])
    start = time.monotonic()
    try:
        done = subprocess.run([sys.executable, "-I", "-S", "-c", CHILD], input=asked, capture_output=True, text=True,
                              timeout=budget.left, check=True)  # fmt: skip
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        raise PatternTooCostly(matcher.pattern) from None
    finally:
        budget.spent += time.monotonic() - start
    return [names[i] for i in json.loads(done.stdout)]
