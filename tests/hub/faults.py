"""Faults on order: the k-th request that matches goes wrong in a stated way.

cut          the connection ends before the request's body is taken in, and nothing was done
             (a GET: it ends after half of the answer)
lost         it is done, the answer is never sent
status:NNN   it is not done; Retry-After is `retry_after`, 1 for 429 when not given
wrong-bytes  one bit of the request's body, or of the answer when it has none, is turned over; sizes stay
delay:S      it waits S seconds and is then done as usual
"""

import re
import threading
from dataclasses import dataclass

KINDS = re.compile(r"cut|lost|wrong-bytes|status:[1-9]\d\d|delay:\d+(\.\d+)?")


@dataclass
class Fault:
    """Strikes at matching requests number `nth` to `nth + times - 1`; `seen` counts those that came so far."""

    match: re.Pattern[str]
    nth: int
    do: str
    retry_after: int | None
    times: int
    seen: int = 0

    @property
    def number(self) -> float:
        """What stands after the colon."""
        return float(self.do.partition(":")[2])

    def counts(self, line: str) -> bool:
        if not self.match.search(line):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times

    @property
    def struck(self) -> bool:
        return self.seen >= self.nth


class Faults:
    """The faults of one Hub. `line` is "METHOD raw-path?query"."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, match: str, nth: int, do: str, retry_after: int | None, times: int) -> Fault:
        if not KINDS.fullmatch(do):
            raise ValueError(f"{do!r} is no fault: see hub/faults.py")
        fault = Fault(re.compile(match), nth, do, retry_after, times)
        with self._lock:
            self._faults.append(fault)
        return fault

    def strike(self, line: str) -> Fault | None:
        """The fault for this request. All that match count it; the first one due strikes."""
        with self._lock:
            due = [fault for fault in self._faults if fault.counts(line)]
        return due[0] if due else None
