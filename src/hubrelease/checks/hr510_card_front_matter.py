"""The metadata block of README.md can't be read, or a key stands in it twice.

Why it matters: the Hub refuses the commit, after the weights went up; and readers differ in which of two values they take.
Mend: Write the block as a YAML mapping between two lines of ---, each key once.
Source: huggingface/hub-docs modelcard.md; huggingface_hub 2.4.0 repocard.py; huggingface/huggingface_hub issue 1927.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for fault in release.card.front.faults if release.card else ():
        yield CHECK.problem(Where(FILE, fault.line), fault.message, "write a YAML mapping between two lines of ---, each key once")


CHECK = Check("HR510", "card-front-matter", "card metadata that can't be read", run)
