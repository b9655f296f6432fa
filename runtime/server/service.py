"""What the server knows and does apart from HTTP: the engine's life, one request's work on it, what its errors mean."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from engine import Decision, DeviceLost, Engine, EngineError, LoadError

from server import contract, heap
from server.bodies import Patience
from server.budget import Budget, Share
from server.images import Picture, decode, from_data_url
from server.logs import log
from server.metrics import Metrics, resident_bytes
from server.refusals import Refused, unavailable
from server.scheduler import Scheduler, Worker

STATUS_OF_KIND = {
    "too_long": (422, "prompt_too_long"),
    "too_many_options": (422, "too_many_options"),
    "out_of_memory": (500, "out_of_memory"),
}
EXIT_LOAD, EXIT_DEVICE = 1, 3
CLOSE_SECONDS = 20
LOOK_SECONDS = 1.0  # how old the figures of the device's memory may get


@dataclass(frozen=True)
class Limits:
    """What bounds the server; the contract's own limits are in contract.py, images.py and bodies.py."""

    queue: int = 16
    held_bytes: int = 2**30
    parsers: int = 2
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True)
class Outcome:
    """What the engine's thread hands back for one request."""

    decisions: tuple[Decision, ...]
    vision_ms: float
    seconds: float
    memory: Mapping[str, float | None] | None


class Dropped(Exception):
    """The caller left while its request ran."""


class Service:
    """`end` is called when the process should stop; `exit_code` then says why. `release` is what the folder says of itself."""

    def __init__(self, load: Callable[[], Engine], limits: Limits, end: Callable[[], None], release: Mapping[str, str]) -> None:
        self.load, self.limits, self.end, self.release = load, limits, end, release
        self.metrics = Metrics()
        self.budget = Budget(limits.held_bytes)
        self.parsers = asyncio.Semaphore(limits.parsers)
        self.worker = Worker()
        self.scheduler = Scheduler(self.worker, limits.queue)
        self.engine: Engine | None = None
        self.facts: dict[str, Any] = {}
        self.exit_code = 0
        self.looked = 0.0

    @property
    def status(self) -> str:
        if self.scheduler.closing:
            return "closing"
        return "ready" if self.engine else "loading"

    async def start(self) -> None:
        """Loads the engine; where that fails, ends the process with EXIT_LOAD."""
        log("loading")
        started = perf_counter()
        try:
            self.engine, self.facts = await self.worker.run(self.opened)
        except Exception as error:
            reason = str(error) if isinstance(error, LoadError) else None
            log("load_failed", logging.ERROR, error, reason=reason)
            self.stop(EXIT_LOAD)
            return
        self.metrics.device_memory = self.facts.get("memory", {})
        log("ready", seconds=round(perf_counter() - started, 3), backend=self.facts.get("backend"))

    def opened(self) -> tuple[Engine, dict[str, Any]]:
        engine = self.load()
        return engine, {**engine.describe(), **self.release}

    def stop(self, code: int) -> None:
        self.exit_code = self.exit_code or code
        self.scheduler.close()
        self.end()

    async def close(self) -> None:
        """Frees the device once nothing runs on it any more; a device that hangs is left to the end of the process."""
        self.scheduler.close()
        if self.engine is not None and self.exit_code != EXIT_DEVICE:
            try:
                await asyncio.wait_for(self.worker.run(self.engine.close), CLOSE_SECONDS)
            except (TimeoutError, EngineError) as error:
                log("close_failed", logging.ERROR, error)
        self.worker.stop()

    def ready(self) -> Engine:
        """The engine. Raises Refused (503) where there is none yet, or no more."""
        if self.status == "closing":
            self.scheduler.check_room()
        if self.engine is None:
            raise unavailable("not_ready", "the model is being loaded", 2)
        return self.engine

    def models(self) -> dict[str, Any]:
        self.ready()
        return {**self.facts, "memory": self.metrics.device_memory, "loaded": True}

    def gauges(self) -> dict[str, float]:
        return {
            "ready": float(self.status == "ready"),
            "queue_waiting": self.scheduler.waiting,
            "queue_capacity": self.scheduler.capacity,
            "running": float(self.scheduler.running),
            "held_bytes": self.budget.held,
            "resident_bytes": resident_bytes(),
        }

    async def parsed(self, form: bool, content_type: str, body: bytearray, share: Share) -> tuple[contract.Request, list[Picture]]:
        """The checked request and its decoded images. The body counts no longer once it is taken apart."""
        async with self.parsers:
            found = await asyncio.to_thread(take_apart, form, content_type, body, self.facts["max_options"], share)
        share.shrink(len(body))
        body.clear()
        return found

    async def answered(self, request: contract.Request, pictures: Sequence[Picture]) -> Outcome:
        """The engine's decisions, when this request's turn comes. Raises Refused for what the engine refuses."""
        engine = self.ready()
        entered = perf_counter()
        waited = 0.0
        look = entered - self.looked > LOOK_SECONDS

        def work(stop: threading.Event) -> Outcome:
            nonlocal waited
            waited = perf_counter() - entered
            return decide(engine, request, pictures, stop, look)

        try:
            outcome = await self.scheduler.run(work)
        except EngineError as error:
            raise self.refusal(error) from None
        self.metrics.queue_seconds.add(waited)
        self.metrics.engine_seconds.add(outcome.seconds)
        self.metrics.input_tokens += sum(d.input_tokens for d in outcome.decisions)
        self.metrics.questions.update(q.type for q in request.questions)
        if outcome.memory is not None:
            self.metrics.device_memory, self.looked = outcome.memory, perf_counter()
        return outcome

    def refusal(self, error: EngineError) -> Refused:
        if isinstance(error, DeviceLost):
            log("device_lost", logging.CRITICAL, error)
            self.stop(EXIT_DEVICE)  # the CUDA context is gone: nothing but a new process helps
        status, word = STATUS_OF_KIND.get(error.kind, (500, error.kind))
        return Refused(status, word, str(error))


def take_apart(form: bool, content_type: str, body: bytearray, max_options: int, share: Share) -> tuple[contract.Request, list[Picture]]:
    """Bytes to checked values; runs in a thread of its own, for a large body takes a while."""
    from server import form as forms
    from server import json_text

    text, files = forms.parse(content_type, body) if form else (bytes(body), [])
    request = contract.request(json_text.parse(text), max_options)
    if files and request.images:
        raise Refused(422, "invalid_request", "images come as files or as data URLs, not as both")
    sources = files or [from_data_url(url, n) for n, url in enumerate(request.images)]
    return request, [decode(data, n, share.grow) for n, data in enumerate(sources)]


def decide(engine: Engine, request: contract.Request, pictures: Sequence[Picture], stop: threading.Event, look: bool) -> Outcome:
    """Runs in the engine's thread: the images once, then question by question; then, if asked to, a look at its memory.

    Nothing of the request is needed any more by then, so that is when free memory is given back.
    """
    started = perf_counter()
    encoded = engine.encode_images([p.pixels for p in pictures]) if pictures else None
    decisions = []
    for question in request.questions:
        if stop.is_set():
            raise Dropped
        decisions.append(engine.decide(request.state, question, encoded))
    seconds = perf_counter() - started
    memory = engine.describe().get("memory", {}) if look else None
    if look:
        heap.give_back()
    return Outcome(tuple(decisions), encoded.vision_ms if encoded else 0.0, seconds, memory)


def offline() -> None:
    """No library may ask a hub for anything: the release folder is all there is."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
