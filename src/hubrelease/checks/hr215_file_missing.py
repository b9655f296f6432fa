"""A file that MODEL_PROVENANCE.json lists is absent, and something else is wrong too.

Why it matters: Loaders may start without it and give wrong answers.
Mend: Fetch the rest of the release.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR215", "file-missing", "missing file")
