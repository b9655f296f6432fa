"""The header of a safetensors file can't be used: not JSON, too large, an unknown dtype, a shape that is none.

Why it matters: the reference reader refuses the file, and what other readers make of it differs.
Mend: Save the tensors again with the safetensors library.
Source: safetensors/safetensors safetensors/src/tensor.rs, 0.8.0 (the same files are refused there).
"""

from __future__ import annotations

from hubrelease.container_faults import from_containers

CHECK = from_containers("HR236", "header-invalid", "unreadable header", "save the tensors again with the safetensors library")
