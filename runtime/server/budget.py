"""How many bytes of bodies and pixels all requests together may hold. A request that would go over it is told to come again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from server.refusals import unavailable


class Share:
    """What one request holds. Bodies grow as they arrive, so it grows too."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.held = budget, 0

    def grow(self, size: int) -> None:
        """Takes `size` bytes more. Raises Refused (503) where they are not there."""
        with self.budget.lock:
            if self.budget.held + size > self.budget.limit:
                raise unavailable("busy", "the server holds as much data of other requests as it may; try again")
            self.budget.held += size
            self.held += size

    def shrink(self, size: int) -> None:
        with self.budget.lock:
            self.budget.held -= size
            self.held -= size


class Budget:
    def __init__(self, limit: int) -> None:
        self.limit, self.held, self.lock = limit, 0, threading.Lock()

    @contextmanager
    def share(self) -> Iterator[Share]:
        share = Share(self)
        try:
            yield share
        finally:
            share.shrink(share.held)
