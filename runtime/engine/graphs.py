"""CUDA graphs of the forward for 32 lengths up to 4,096 tokens; prompts are padded on the right to the next one.

Captured longest first into one memory pool, after three warm-up passes on a side stream, so that no kernel compiles, tunes
or allocates under capture. Inputs live in static buffers; rows past the prompt hold what an earlier one left there, which
nothing before them can see.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import torch

from .model import Model

LENGTHS = (*range(64, 1025, 64), *range(1152, 2049, 128), *range(2304, 4097, 256))
WARM_UPS = 3
BATCHES = (3, 4)  # the rotations of a question, in one pass: a pass over the weights serves all of them
LONGEST_BATCHED = 1024  # beyond it the gain is below a tenth (bench/results/sm120-runtime-h200.json)


@dataclass
class Graphs:
    """Captured forwards of one model by (batch, length)."""

    model: Model
    lengths: tuple[int, ...] = LENGTHS
    bytes_held: int = 0
    captured: dict[tuple[int, int], tuple[Any, torch.Tensor]] = field(default_factory=dict)
    buffers: dict[int, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    pool: Any = None

    def lengths_of(self, batch: int) -> tuple[int, ...]:
        """The lengths that are captured for a batch."""
        return self.lengths if batch == 1 else tuple(length for length in self.lengths if length <= LONGEST_BATCHED)

    def length(self, tokens: int) -> int | None:
        """The captured length that a prompt of so many tokens is padded to; None above the longest."""
        at = bisect_left(self.lengths, tokens)
        return self.lengths[at] if at < len(self.lengths) else None

    def has(self, batch: int, tokens: int) -> bool:
        """True where this many prompts of at most so many tokens have a graph."""
        return (batch, self.length(tokens)) in self.captured

    def inputs(self, batch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Static (embeds, positions, last) for a batch, as large as the longest length needs."""
        if batch not in self.buffers:
            rows, device = batch * self.lengths_of(batch)[-1], self.model.device
            embeds = torch.zeros(rows, self.model.config.hidden, dtype=self.model.embedding.dtype, device=device)
            positions = torch.zeros(3, rows, dtype=torch.long, device=device)
            self.buffers[batch] = embeds, positions, torch.zeros(batch, dtype=torch.long, device=device)
        return self.buffers[batch]

    def capture_all(self, batches: tuple[int, ...] = (1, *BATCHES)) -> None:
        """Captures every length for these batch sizes, the most rows first."""
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved(self.model.device)
        wanted = [(batch, length) for batch in batches for length in self.lengths_of(batch)]
        for batch, length in sorted(wanted, key=lambda pair: -pair[0] * pair[1]):
            self.capture(batch, length)
        torch.cuda.empty_cache()
        self.bytes_held = torch.cuda.memory_reserved(self.model.device) - before

    def capture(self, batch: int, length: int) -> None:
        """Captures one (batch, length)."""
        embeds, positions, last = self.inputs(batch)
        last.zero_()  # an earlier length's last row may lie beyond this one's
        rows = batch * length
        arguments = embeds[:rows], positions[:, :rows], (batch, length), last
        stream = torch.cuda.Stream(self.model.device)
        stream.wait_stream(torch.cuda.current_stream(self.model.device))
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                self.model.forward(*arguments)
        torch.cuda.current_stream(self.model.device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.model.forward(*arguments)
        self.pool = self.pool or graph.pool()
        self.captured[batch, length] = graph, out

    def run(self, embeds: torch.Tensor, positions: torch.Tensor, last: torch.Tensor) -> torch.Tensor | None:
        """States of the last tokens of prompts (batch, tokens, hidden) with positions (3, batch, tokens); None if not captured.

        `last` are positions inside each prompt.
        """
        batch, tokens = embeds.shape[:2]
        length = self.length(tokens)
        if length is None or (batch, length) not in self.captured:
            return None
        graph, out = self.captured[batch, length]
        static_embeds, static_positions, static_last = self.inputs(batch)
        static_embeds[: batch * length].unflatten(0, (batch, length))[:, :tokens].copy_(embeds)
        static_positions[:, : batch * length].unflatten(1, (batch, length))[:, :, :tokens].copy_(positions)
        static_last.copy_(last + torch.arange(batch, device=last.device) * length)
        graph.replay()
        return out.clone()
