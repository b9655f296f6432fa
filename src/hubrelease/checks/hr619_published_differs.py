"""A figure was published as another value than the data gives: a recovery, an average, a total that its own parts do not make.

Why it matters: people quote what was published; whoever computes it again finds something else and doubts every other figure.
Mend: Publish what the data gives and remove `published`; or, where it was computed from values before rounding, give a receipt with those.
Source: axteam/Qwen3.5-4B-NVFP4A16, whose card has two recoveries of 98.8% where its scores give 98.7%. A warning: the card shows both
values, marked. They agree where the exact value rounds to what was published at as many decimals; a tie may go either way. A receipt
of published figures is a source of `published` too: a total beside the sum of its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hubrelease import published, spec_tables
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.telling import few
from hubrelease.verify_release import PROVENANCE

SPEC = "/predicate/buildDefinition/externalParameters/spec"


def run(release: Release) -> Iterator[Problem]:
    card = release.spec.get("card")
    if not isinstance(card, dict) or not spec_tables.has_key(card, published.KEY) or not spec_tables.is_sane(card):
        return
    try:
        found = list(published.published_problems(spec_tables.facts_of(release)))
    except spec_tables.FAULTS:
        return  # a spec that no build of ours embeds
    yield from few(replace(told, where=Where(PROVENANCE, None, f"{SPEC}{told.where.pointer}")) for told in found)


CHECK = Check(published.CODE, published.KIND, "published figure that the data does not give", run)
