"""README.md is empty, or the Hub finds no metadata in it.

Why it matters: without metadata the model has no licence, task, base or library on the Hub, and no search finds it.
Mend: Begin the file with a metadata block between two lines of ---.
Source: huggingface/huggingface_hub PR 1934: the Hub's own warning "empty or missing yaml metadata in repo card".
A release without a README.md at all is no finding (contract, section 2), so this is a warning as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    if release.card and release.card.front.absence:
        mend = "begin the file with a line of ---, the metadata, and a second line of ---"
        yield CHECK.problem(FILE, release.card.front.absence, mend, severity="warning")


CHECK = Check("HR511", "card-empty", "card without metadata", run)
