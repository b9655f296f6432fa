"""From the states of a question's rotations to calibrated probabilities, in FP32 and float64; and what is read for it.

Per rotation a log-softmax over the candidates' readout rows, the mean over rotations, then a softmax at the temperature of
the question's type and option count. `unknown` competes like every other candidate; where it wins the answer is abstained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import LoadError
from .config import read_json
from .kernels import reference
from .prompts import LAYOUTS, bound_codes, code_names

BUCKETS = ((2, "2"), (5, "3-5"), (10, "6-10"), (25, "11-25"), (255, "26-254"))  # the last name is a label that files carry
TYPES = {"choice": "choice", "noul": "boolean", "score": "ordinal"}
KEYS = frozenset(f"{kind}:{name}" for kind in TYPES.values() for _, name in BUCKETS)
CODES = (255, 256)


@dataclass(frozen=True)
class Readout:
    """FP32 rows, one a code, and the layout of the prompts that they were trained on."""

    rows: torch.Tensor
    codes: tuple[str, ...]
    layout: str

    @property
    def max_options(self) -> int:
        """Options that a question may have: unknown takes a code."""
        return len(self.codes) - 1

    def logits(self, states: torch.Tensor, count: int) -> torch.Tensor:
        """FP32 (rotations, candidates) of final-norm states (rotations, hidden)."""
        return reference.readout(states, self.rows[:count])


def load_readout(folder: Path, tokenizer: Any, hidden: int, head: torch.Tensor, device: torch.device) -> Readout:
    """The adapter's readout, its codes held against this tokenizer; without one, the output head's rows. Raises LoadError."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    weights, manifest = folder / "decision_readout.safetensors", folder / "decision_readout.json"
    if not weights.is_file() and not manifest.is_file():
        pairs = bound_codes(tokenizer, CODES[0])
        rows = head[torch.tensor([token for _, token in pairs], device=head.device)].float()
        return Readout(rows, tuple(code for code, _ in pairs), LAYOUTS[0])
    try:
        rows = load_file(weights, device=str(device))["weight"]
    except (OSError, SafetensorError, KeyError) as error:
        raise LoadError(f"{weights.name}: {error}") from error
    described = read_json(manifest)
    if rows.dtype != torch.float32 or rows.dim() != 2 or rows.shape[1] != hidden or not bool(rows.isfinite().all()):
        raise LoadError(f"{weights.name}: {tuple(rows.shape)} {rows.dtype} is no finite FP32 readout over {hidden} values")
    count = rows.shape[0]
    if not 3 <= count <= len(list(code_names())):
        raise LoadError(f"{weights.name}: {count} rows")
    pairs = bound_codes(tokenizer, count)
    if described.get("version") != 1 or described.get("codes") != [{"code": code, "token_id": token} for code, token in pairs]:
        raise LoadError(f"{manifest.name}: its codes are bound to another tokenizer")
    layout = described.get("prompt_layout", LAYOUTS[0])
    if layout not in LAYOUTS:
        raise LoadError(f"{manifest.name}: prompt layout {layout!r} is not known")
    return Readout(rows, tuple(code for code, _ in pairs), layout)


@dataclass(frozen=True)
class Calibration:
    """Temperatures, and offsets of the unknown logit for questions without images, by "type:bucket"."""

    version: str | None = None
    temperatures: dict[str, float] = field(default_factory=dict)
    unknown_offsets: dict[str, float] = field(default_factory=dict)

    def find(self, kind: str, options: int, images: bool) -> tuple[float, float, str | None]:
        """(temperature, unknown offset, version); 1, 0 and None for a bucket that wasn't calibrated."""
        key = f"{TYPES[kind]}:{next(name for most, name in BUCKETS if options <= most)}"
        if key not in self.temperatures:
            return 1.0, 0.0, None
        return self.temperatures[key], 0.0 if images else self.unknown_offsets.get(key, 0.0), self.version


def load_calibration(folder: Path, name: str | None) -> Calibration:
    """The file named, or the only calibration*.json of the folder, or none. Raises LoadError."""
    found = [folder / name] if name else sorted(folder.glob("calibration*.json"))
    if len(found) > 1:
        raise LoadError(f"{len(found)} calibrations in the adapter's folder ({', '.join(p.name for p in found)}): name one")
    if not found:
        return Calibration()
    value = read_json(found[0])
    temperatures, moved = value.get("temperatures"), value.get("unknown_offsets") or {}
    if (
        value.get("schema_version") not in ("1.0", "1.1")
        or not value.get("calibration_version")
        or not isinstance(value["calibration_version"], str)
    ):
        raise LoadError(f"{found[0].name}: not a calibration of schema 1.0 or 1.1")
    if not isinstance(temperatures, dict) or not isinstance(moved, dict):
        raise LoadError(f"{found[0].name}: temperatures or unknown_offsets is no object")
    if strange := sorted({*temperatures} - KEYS) + sorted({*moved} - {*temperatures}):
        raise LoadError(f"{found[0].name}: {strange[0]} is no bucket of it; buckets are {', '.join(sorted(KEYS))}")
    numbers = [*temperatures.values(), *moved.values()]
    if any(isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x) for x in numbers):
        raise LoadError(f"{found[0].name}: a temperature or offset is not a finite number")
    if any(x <= 0 for x in temperatures.values()):
        raise LoadError(f"{found[0].name}: a temperature is not positive")
    return Calibration(value["calibration_version"], temperatures, moved)


def log_softmax(values: Sequence[float]) -> list[float]:
    """In float64, as the calibration was fitted."""
    top = max(values)
    norm = top + math.log(math.fsum(math.exp(value - top) for value in values))
    return [value - norm for value in values]


def combine(logits: Sequence[Sequence[float]], offsets: Sequence[int]) -> list[float]:
    """Mean log-probability of each candidate over its rotations, in the candidates' own order."""
    count = len(logits[0])
    totals = [0.0] * count
    for offset, row in zip(offsets, logits, strict=True):
        for position, value in enumerate(log_softmax(row)):
            totals[(position + offset) % count] += value
    return [total / len(offsets) for total in totals]


def probabilities(means: Sequence[float], temperature: float, unknown_offset: float) -> list[float]:
    """Calibrated probabilities of the candidates, unknown last."""
    moved = [*means[:-1], means[-1] + unknown_offset]
    return [math.exp(value) for value in log_softmax([value / temperature for value in moved])]
