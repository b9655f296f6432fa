"""The header of a safetensors file names a tensor, a field or a metadata key twice.

An error although the reference reader accepts a doubled tensor name: the format's text forbids it.

Why it matters: readers differ in which one they take, so the same file is two models; the reference reader takes the last.
Mend: Save the tensors again with the safetensors library.
Source: safetensors/safetensors issue 401 and README.md (duplicate keys are disallowed).
"""

from __future__ import annotations

from hubrelease.container_faults import from_containers

CHECK = from_containers("HR238", "header-duplicate-key", "key twice in a header", "save the tensors again with the safetensors library")
