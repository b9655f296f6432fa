"""A listed name or a file's name is absolute, leaves the folder, holds control characters, or lies too deep.

Why it matters: Such a name makes tools write or read outside of the release, or shows something else on a terminal than it is.
Mend: Rename or remove the file; build the release again.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR212", "unsafe-path", "a path that can't be part of a release")
