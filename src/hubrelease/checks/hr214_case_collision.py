"""Two names differ only in case or in Unicode form.

Why it matters: On macOS and Windows one file overwrites the other at download.
Mend: Rename one of them.
Source: Megvii-BaseDetection/YOLOX issue 58.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR214", "case-collision", "names that fall together")
