"""A file is left over from an interrupted download, an editor or the operating system.

Why it matters: It is packed with the release at the next upload.
Mend: Remove it.
Source: huggingface/huggingface_hub issue 4412.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR223", "leftover", "leftover file")
