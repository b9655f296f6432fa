"""A GGUF file is not one that llama.cpp can read: header, keys, tensor infos or offsets.

Types that mainline ggml does not know and names of 64 bytes and more are warnings (forks have their own types and limits), as are
bytes behind the last tensor.

Why it matters: the file can't be loaded, or tensors are read from the wrong place.
Mend: Convert or download the file again.
Source: ggml-org/llama.cpp ggml/src/gguf.cpp (the same files are refused there); ggml docs/gguf.md.
"""

from __future__ import annotations

from hubrelease.container_faults import from_containers

CHECK = from_containers("HR243", "gguf-invalid", "unusable GGUF file", "convert or fetch the file again")
