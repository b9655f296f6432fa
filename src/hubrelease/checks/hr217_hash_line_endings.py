"""A text file differs from the listed one in its line ends only.

Why it matters: A checkout that converts line ends breaks every hash, though nobody changed anything.
Mend: Check out without conversion: git config core.autocrlf false.
Source: rjwalters/kicad-tools issue 3529.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR217", "hash-line-endings", "changed line ends")
