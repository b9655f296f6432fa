"""Tensors of a safetensors file overlap, leave bytes between or behind them to nobody, or have a size that their shape does not give.

Why it matters: two tensors share bytes, or bytes are hidden in the file; checks of each range alone pass.
Mend: Save the tensors again with the safetensors library.
Source: ohdearquant/lattice issue 752; antirez/h3.c PR 48; safetensors/safetensors attacks/README.md.
"""

from __future__ import annotations

from hubrelease.container_faults import from_containers

CHECK = from_containers("HR239", "header-ranges", "tensors overlap or leave gaps", "save the tensors again with the safetensors library")
