"""A safetensors header has a form that the reference reader takes and that others can't use, or not safely.

A header length that is no multiple of 8 is legal and no finding.

Why it matters: a row of 4-bit values that is no whole number of bytes can't be held by torch (an error); a header that begins
with a blank is against the format's text; names that lead out of a folder harm tools that write a file a tensor (warnings).
Mend: Save the tensors again with the safetensors library, under plain names.
Source: safetensors/safetensors README.md (the header MUST begin with `{`) and bindings/python/src/lib.rs, 0.8.0 (F4 as float4_e2m1fn_x2).
"""

from __future__ import annotations

from hubrelease.container_faults import from_containers

MEND = "save the tensors again with the safetensors library, under plain names"

CHECK = from_containers("HR237", "header-form", "header that not every reader can use", MEND)
