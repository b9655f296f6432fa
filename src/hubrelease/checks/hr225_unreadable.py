"""A file or folder could not be read.

Why it matters: What could not be read was not checked.
Mend: Give yourself read access, then run again.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR225", "unreadable", "unreadable file or folder")
