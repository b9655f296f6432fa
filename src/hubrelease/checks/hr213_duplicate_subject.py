"""MODEL_PROVENANCE.json lists one name more than once.

Why it matters: Two entries for one file leave open which digest counts.
Mend: Build the release again.
Source: in-toto Statement v1.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR213", "duplicate-subject", "a file listed twice")
