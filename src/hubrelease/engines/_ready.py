"""Waiting for a server until it is ready: as long as it takes for one that we started, not for an address where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from hubrelease.engines import EngineFault

POLL_S, CALL_S = 0.25, 10.0
ABSENT_S = 10.0  # a server that runs already listens; one that is just being started soon does
T = TypeVar("T")


def until_ready(look: Callable[[float], T | str], alive: Callable[[], None], seconds: float, *, is_ours: bool) -> T:
    """What `look` (given its time-out in seconds) finds; a text says why it is not there yet. EngineFault after `seconds`."""
    began = monotonic()
    while True:
        alive()
        absent = False
        try:
            found = look(max(0.1, min(CALL_S, began + seconds - monotonic())))
            if not isinstance(found, str):
                return found
            last = found
        except EngineFault as fault:
            last, absent = fault.message, fault.ended
        waited = monotonic() - began
        if absent and not is_ours and waited > ABSENT_S:
            raise EngineFault(f"did not get ready: for {waited:.0f} s {last}", ended=True)
        if waited + POLL_S > seconds:
            raise EngineFault(f"did not get ready within {seconds:g} s: {last}", ended=True)
        sleep(POLL_S)
