"""A file changed while it was hashed.

Why it matters: What was hashed is not what is there now.
Mend: Run again when nothing writes to the folder.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR224", "file-changed", "file changed while read")
