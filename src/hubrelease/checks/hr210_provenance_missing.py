"""The folder has no MODEL_PROVENANCE.json, so nothing says what its files should be.

Why it matters: Without a list of digests, a changed, lost or added file can't be told from a right one.
Mend: Fetch the file again, or make the folder a release with `hubrelease seal`.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR210", "provenance-missing", "no provenance")
