"""A file's size or SHA-256 is not the listed one.

Why it matters: The file is not the one that the publisher made.
Mend: Fetch the file again; after an edit of your own, `hubrelease seal`.
Source: huggingface/huggingface_hub PR 3461.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR216", "hash-mismatch", "changed file")
