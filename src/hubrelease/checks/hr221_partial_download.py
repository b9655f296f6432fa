"""Listed files are absent, and nothing else is wrong.

Why it matters: The release can't be judged before it is whole; this is no sign that it is bad.
Mend: Run the download again; it goes on from what is there.
Source: contract, section 2.
"""

from __future__ import annotations

from hubrelease.checks import from_files

CHECK = from_files("HR221", "partial-download", "partial download")
