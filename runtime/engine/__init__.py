"""What a server asks of an engine: questions go in, probabilities come out.

This module imports the standard library only, so a server's contract and its tests need no torch. The real engine is
`engine.core.DecisionEngine`; `load_engine` makes one. An engine isn't safe for two threads: callers queue (one request at
a time on the GPU). Every error that a caller can cause is an EngineError with a `kind`; anything else is a fault.

How a server uses it, once a request:

    images = engine.encode_images(pil_images)          # None where there are none; each image goes through the vision tower once
    for question in questions:
        decision = engine.decide(state, question, images)

The package is `engine` with `runtime/` on the path, or `runtime.engine` with its parent; kernels.py finds the kernels.

The prompt, its candidate codes, rotations and calibration are the engine's business; the answer's shape is the server's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

QuestionType = Literal["choice", "noul", "score"]
PROFILES = ("fused", "reference")  # our own forward; the plain transformers path, kept for A/B
BACKENDS = ("auto", "cutlass_sm120", "triton", "triton_sm90", "torch_sm90", "torch_reference")


class EngineError(Exception):
    """The engine can't do what was asked. `kind` says why; the message says it in words, without the caller's content."""

    kind = "runtime"


class LoadError(EngineError):
    """The release folder, its adapter or its readout is not what it should be, or the backend asked for can't run here."""

    kind = "load"


class PromptTooLong(EngineError):
    """More tokens than the limit. Prompts are refused, never truncated (HTTP 422)."""

    kind = "too_long"


class TooManyOptions(EngineError):
    """More options than the readout has codes for, `unknown` counted (HTTP 422)."""

    kind = "too_many_options"


class OutOfMemory(EngineError):
    """The device's memory didn't suffice for this request; the engine still serves smaller ones (HTTP 500)."""

    kind = "out_of_memory"


class DeviceLost(EngineError):
    """A CUDA error that stays (the context is gone): the process must end."""

    kind = "device_lost"


@dataclass(frozen=True)
class Option:
    """One answer that the caller allows: `label` is its name in the answer, `description` what the prompt says about it."""

    label: str
    description: str | None = None


@dataclass(frozen=True)
class Question:
    """A checked question. `unknown` is never among the options: the engine adds it as the last candidate.

    choice: the options as given. noul: exactly Option("true", …), Option("false", …). score: the levels, lowest first,
    labels "0", "1", …; `instructions` is already one text (objects and arrays flattened by the server).
    """

    id: str
    type: QuestionType
    instructions: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Decision:
    """Calibrated probabilities. `probabilities` (in order of the question's options) and `unknown_probability` sum to 1.

    A server that answers `choice` or `score` renormalises without unknown. `selected` is the winning option's index, or None
    where unknown wins (`abstained`). `calibration_version` is None where no temperature fits the type and option count.
    `prefill_ms` is the time of the forward passes alone; `input_tokens` counts the prompts of all rotations.
    """

    probabilities: tuple[float, ...]
    unknown_probability: float
    selected: int | None
    calibration_version: str | None
    input_tokens: int
    rotations: int
    prefill_ms: float
    total_ms: float

    @property
    def abstained(self) -> bool:
        """True where unknown has the highest probability."""
        return self.selected is None


class EncodedImages(Protocol):
    """The vision features of a request's images; opaque, alive as long as the caller keeps it."""

    count: int
    tokens: int
    vision_ms: float


class Engine(Protocol):
    """What a server needs. `describe()` is stable once loaded except for `memory`."""

    def describe(self) -> dict[str, Any]:
        """Facts for /v1/models, receipts and metrics.

        model, adapter (its folder in the release; None without one), backend {linear, selfTest, deltaRule, …}, profile,
        load_seconds, readout_codes, max_options (codes - 1: unknown takes one), prompt_layout, calibration_version,
        max_tokens, max_images, graphs {lengths, captured}, device {name, computeCapability}, versions {torch, triton,
        transformers, fla, engine}, memory {allocatedMiB, reservedMiB, peakMiB, weightsMiB, graphsMiB}.
        """
        ...

    def encode_images(self, images: Sequence[Any]) -> EncodedImages | None:
        """Features of up to two RGB PIL images, in order; None for no images."""
        ...

    def decide(self, state: str | Mapping[str, Any], question: Question, images: EncodedImages | None = None) -> Decision:
        """Answers one question. Raises PromptTooLong, TooManyOptions, OutOfMemory or DeviceLost.

        `state` is the JSON value (a string or an object; the server wraps arrays): how it is written in the prompt depends on
        the adapter's prompt layout, so the engine writes it.
        """
        ...

    def close(self) -> None:
        """Frees the device's memory; the engine answers nothing afterwards."""
        ...


def load_engine(
    folder: str | Path,
    *,
    device: str = "cuda",
    backend: str = "auto",
    profile: str = "fused",
    max_tokens: int = 65_536,
    graphs: bool = True,
    calibration: str | None = None,
) -> Engine:
    """Loads a release folder; raises LoadError. `calibration` names a file of the adapter folder (default: the only one there).

    `auto` takes the best linear backend whose self-test passes on this device and says which in `describe()`; any other
    value is that backend or an error. On a CPU the backend is `torch_reference` and there are no graphs.
    """
    from .core import DecisionEngine  # imported here: it needs torch

    return DecisionEngine.load(
        folder, device=device, backend=backend, profile=profile, max_tokens=max_tokens, graphs=graphs, calibration=calibration
    )
