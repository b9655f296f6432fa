"""The card's licence is not the one that provenance records for the release or for its base.

Why it matters: a default that nobody checked binds, or misleads, everybody who uses the release.
Mend: Write the base's licence in the card; where another one is right, state it in release.yaml with license_reason.
Source: WestWaters/pollard-weights PR 66. A LICENSE text that is plainly another licence's is a warning: it may cover the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.dependencies import base_of
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import texts_of
from hubrelease.release import Release

MEND = "write the licence that provenance records, or state the other one in release.yaml with license_reason"
SILENT = ("unknown", "")  # licences that say nothing one could contradict
TEXTS = {  # a licence's id → sentences that stand in its text and in no other's
    "apache-2.0": (r"Apache License\s+Version 2\.0, January 2004", r"Grant of Patent License"),
    "mit": (r"Permission is hereby granted, free of charge, to any person obtaining a copy", r"THE SOFTWARE IS PROVIDED \"AS IS\""),
    "gpl-3.0": (r"GNU GENERAL PUBLIC LICENSE\s+Version 3, 29 June 2007", r"TERMS AND CONDITIONS"),
    "agpl-3.0": (r"GNU AFFERO GENERAL PUBLIC LICENSE\s+Version 3", r"TERMS AND CONDITIONS"),
    "gpl-2.0": (r"GNU GENERAL PUBLIC LICENSE\s+Version 2, June 1991", r"TERMS AND CONDITIONS"),
    "cc-by-nc-4.0": (r"Creative Commons Attribution-NonCommercial 4\.0 International Public License", r"Section 1 "),
    "cc-by-4.0": (r"Creative Commons Attribution 4\.0 International Public License", r"Section 1 "),
}
FAMILIES = {"gpl-3.0": ("gpl",), "gpl-2.0": ("gpl",), "mit": ("ncsa", "other", "unknown"), "cc-by-nc-4.0": ("cc",), "cc-by-4.0": ("cc",)}


def run(release: Release) -> Iterator[Problem]:
    front = release.card.front if release.card else None
    stated = [item.text.strip().lower() for item in texts_of(front.get("license"))] if front else []
    if front is None or not stated:
        return
    where = Where(FILE, front.line("license"), "/license")
    if message := conflict(release, stated):
        yield CHECK.problem(where, message, MEND)
    elif (other := license_text(release)) and len(stated) == 1 and stated[0] not in (other, "other", *FAMILIES.get(other, ())):
        message = f"the card says {stated[0]}, and LICENSE is the text of {other}"
        yield CHECK.problem(where, message, "put the text of the card's licence into LICENSE, or correct the card", severity="warning")


def conflict(release: Release, stated: list[str]) -> str | None:
    """What provenance says against the card: the release's own licence, then the base's unless a reason is given."""
    shown = ", ".join(stated)[:80]
    own = release.spec.get("license")
    if isinstance(own, str) and own.strip().lower() not in (*SILENT, *stated):
        return f"the card says {shown}, provenance says that the release is {own[:60]}"
    base, reason = base_of(release), release.spec.get("license_reason")
    given = (base.license or "").lower() if base else ""
    if given in (*SILENT, *stated) or (isinstance(own, str) and isinstance(reason, str) and reason.strip()):
        return None
    return f"the card says {shown}, provenance says that the base model is {given[:60]}"


def license_text(release: Release) -> str | None:
    """The licence whose whole text the one LICENSE file of the release is; None where that is not plain."""
    files = [path for path in release.files if re.fullmatch(r"LICEN[SC]E(\.(md|txt))?", path)]
    data = release.read(files[0], 2**18) if len(files) == 1 else None
    text = re.sub(r"\s+", " ", (data or b"").decode("utf-8", "replace"))
    found = [name for name, forms in TEXTS.items() if all(re.search(form, text) for form in forms)]
    return found[0] if len(found) == 1 else None


CHECK = Check("HR513", "license-conflict", "licence against provenance", run)
