"""The card's library_name is nearly, but not quite, one that the Hub knows.

Why it matters: the Hub takes any value; with a misspelt one the page has no "Use this model" and counts no downloads.
Mend: Write the id as huggingface.js has it.
Source: huggingface/huggingface.js packages/tasks/src/model-libraries.ts; hub-docs docs/hub/models-download-stats.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import texts_of
from hubrelease.hub_lists import libraries, nearest
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    front = release.card.front if release.card else None
    for item in texts_of(front.get("library_name")) if front else ():
        known = {name.lower(): name for name in libraries()}
        text = item.text.strip()
        near = nearest(text.replace(" ", "-").replace("_", "-"), known, 0.88) if text not in libraries() else None
        if near and not differ_in_digits(text, near):
            message = f'library_name "{text[:60]}" is not an id that the Hub knows'
            mend = f"write {known[near]} if that is meant"
            yield CHECK.problem(Where(FILE, item.line, "/library_name"), message, mend, severity="warning")


def differ_in_digits(text: str, known: str) -> bool:
    """True for another version of a library, which the list may not have yet."""
    return re.sub(r"\d", "", text.lower()) == re.sub(r"\d", "", known) and text.lower() != known


CHECK = Check("HR522", "card-library", "misspelt library", run)
