"""MODEL_PROVENANCE.json is not strict JSON, or not an in-toto Statement with an SLSA predicate.

Why it matters: A list that two readers read differently protects nobody.
Mend: Fetch it again, or build the release again.
Source: in-toto Statement v1; SLSA provenance v1.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR211", "provenance-invalid", "unreadable provenance")
