"""An engine that needs no torch: its answers follow from the question alone, and its errors from words in the state."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import runtime_path  # noqa: F401
from engine import Decision, DeviceLost, OutOfMemory, PromptTooLong, Question

FACTS: dict[str, Any] = {
    "model": "owner/tiny", "adapter": "adapter", "backend": {"linear": "fake"}, "profile": "fused", "load_seconds": 0.5, "readout_codes": 256,
    "max_options": 255, "prompt_layout": "standard", "calibration_version": "t1", "max_tokens": 4096, "max_images": 2,
    "memory": {"allocatedMiB": 1.0, "peakMiB": 2.0, "weightsMiB": None},
}  # fmt: skip


@dataclass
class Encoded:
    count: int
    tokens: int = 4
    vision_ms: float = 1.5


class FakeEngine:
    """`busy` counts calls that run at the same time: more than one is a fault of the server."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.gate = seconds, threading.Event()
        self.gate.set()
        self.busy = self.most_busy = self.decided = 0
        self.seen_images: list[Any] = []
        self.closed = False
        self.threads: set[int] = set()

    def describe(self) -> dict[str, Any]:
        return dict(FACTS)

    def encode_images(self, images: Sequence[Any]) -> Encoded | None:
        self.seen_images = list(images)
        return Encoded(len(images)) if images else None

    def decide(self, state: str | Mapping[str, Any], question: Question, images: Any = None) -> Decision:
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        self.threads.add(threading.get_ident())
        try:
            self.gate.wait(30)
            time.sleep(self.seconds)
            self.obey(str(state))
            self.decided += 1
            return decision(question, str(state))
        finally:
            self.busy -= 1

    def obey(self, words: str) -> None:
        if "raise long" in words:
            raise PromptTooLong("the prompt has 70,000 tokens; the limit is 65,536")
        if "raise memory" in words:
            raise OutOfMemory("the device's memory did not suffice")
        if "raise lost" in words:
            raise DeviceLost("the device is gone")
        if "raise fault" in words:
            raise KeyError(words)

    def close(self) -> None:
        self.closed = True


def decision(question: Question, state: str) -> Decision:
    """Weights from a hash, so that the same request always gets the same answer."""
    weights = [1 + hashlib.sha256(f"{state}|{question.id}|{o.label}".encode()).digest()[0] for o in question.options]
    unknown = 0.125
    probabilities = tuple((1 - unknown) * w / sum(weights) for w in weights)
    best = max(range(len(weights)), key=probabilities.__getitem__)
    return Decision(probabilities, unknown, best if probabilities[best] >= unknown else None, "t1", 40, 4, 1.0, 2.0)
