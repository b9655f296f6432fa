"""A file is the small pointer that git-lfs leaves in place of the file itself.

Why it matters: Loaders only say `header too large`; the weights are not there.
Mend: Run git lfs pull.
Source: microsoft/OmniParser issue 34.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR220", "lfs-pointer", "git-lfs pointer")
