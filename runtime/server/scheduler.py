"""One request at a time on the device; the others wait in a bounded queue, first come first served.

All engine work runs in one thread, because a CUDA context and its graphs belong to one. A caller that leaves while it
waits leaves the queue; one that leaves while it runs is dropped at the next question.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from server.refusals import Refused, unavailable

T = TypeVar("T")


class Worker:
    """A thread that runs one function after the other. A daemon: a device that hangs does not keep the process alive."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self.work, name="engine", daemon=True).start()

    def work(self) -> None:
        while (job := self.jobs.get()) is not None:
            loop, future, function = job
            try:
                result, error = function(), None
            except BaseException as caught:  # handed to whoever waits for it
                result, error = None, caught
            try:
                loop.call_soon_threadsafe(settle, future, result, error)
            except RuntimeError:  # the loop is closed: the server ended without waiting
                return
            del job, function, result, error, future  # or the last request would stay in memory until the next one

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self.jobs.put((loop, future, function))
        return future

    def stop(self) -> None:
        self.jobs.put(None)


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class Scheduler:
    """`waiting` callers stand in line behind the `running` one."""

    def __init__(self, worker: Worker, capacity: int) -> None:
        self.worker, self.capacity = worker, capacity
        self.line: deque[asyncio.Future[None]] = deque()
        self.running = False
        self.closing = False
        self.mean_seconds = 1.0

    @property
    def waiting(self) -> int:
        return len(self.line)

    def check_room(self) -> None:
        """Raises Refused (503) where a new caller could not even wait."""
        if self.closing:
            raise closing()
        if self.running and self.waiting >= self.capacity:
            raise unavailable("queue_full", f"{self.waiting} requests are waiting already", self.retry_after)

    @property
    def retry_after(self) -> int:
        """Seconds after which the line should have become shorter."""
        return max(1, min(60, round(self.mean_seconds * (self.waiting + 1) / 2)))

    async def run(self, function: Callable[[threading.Event], T]) -> T:
        """The function's result, once its turn comes. When the caller is cancelled the event tells the function to stop."""
        await self.turn()
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        started = loop.time()
        future = self.worker.run(lambda: function(stop))
        future.add_done_callback(lambda done: self.done(done, loop.time() - started))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            raise

    async def turn(self) -> None:
        self.check_room()
        if not self.running:
            self.running = True
            return
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.line.append(ticket)
        try:
            await ticket
        except BaseException:
            if ticket in self.line:
                self.line.remove(ticket)
            elif ticket.done() and not ticket.cancelled() and ticket.exception() is None:
                self.next()  # its turn came in the moment in which it left
            raise

    def done(self, future: asyncio.Future[Any], seconds: float) -> None:
        """Frees the device when the engine's work has really ended, whether or not its caller is still there."""
        self.mean_seconds = 0.8 * self.mean_seconds + 0.2 * seconds
        if not future.cancelled():
            future.exception()  # looked at, so that asyncio does not complain where the caller has left
        self.next()

    def next(self) -> None:
        while self.line:
            ticket = self.line.popleft()
            if not ticket.done():
                ticket.set_result(None)
                return
        self.running = False

    def close(self) -> None:
        """Lets the running request end and sends the waiting ones away."""
        self.closing = True
        while self.line:
            ticket = self.line.popleft()
            if not ticket.done():
                ticket.set_exception(closing())


def closing() -> Refused:
    return unavailable("closing", "the server is shutting down", 5)
