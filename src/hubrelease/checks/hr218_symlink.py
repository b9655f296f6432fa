"""A file of the release is a link that is not the Hub cache's own.

Why it matters: The bytes are not in the release: copied elsewhere the link dangles, or it points at something of the reader's own.
Mend: Put the file itself in its place.
Source: sigstore/model-transparency issue 549.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR218", "symlink", "a link in the release")
