"""A FIFO, socket or device lies in the release.

Why it matters: Reading it can hang, or have effects.
Mend: Remove it.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR219", "special-file", "a special file")
