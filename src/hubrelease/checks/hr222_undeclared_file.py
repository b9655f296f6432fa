"""A file is not listed in MODEL_PROVENANCE.json. An error where a loader could pick it up or run it, else a warning.

Why it matters: What is not listed was not checked by anybody, and may run.
Mend: Remove it, or build or seal the release with it.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR222", "undeclared-file", "unlisted file")
