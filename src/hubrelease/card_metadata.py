"""The card's metadata before anything is built: the checks on README.md, applied to what release.yaml will make of it.

So that a card which the Hub refuses fails at `hubrelease check`, in seconds, and not at the push after the weights went up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hubrelease.card_front import front_matter
from hubrelease.card_text import FILE
from hubrelease.checks import checks
from hubrelease.errors import Problem
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.release import Release
from hubrelease.spec import Spec
from hubrelease.strict_yaml import pointer_steps
from hubrelease.verifier import apply_waivers
from hubrelease.verify_release import Provenance, Result

CODES = ("HR510", "HR512", "HR514", "HR516", "HR517", "HR518", "HR519", "HR522")  # those that need no file but the card
TOP = ("license", "license_name", "license_link")  # keys of the card that stand at the top of release.yaml


def metadata_problems(spec: Spec, lock: Lock | None) -> Iterator[Problem]:
    """What the checks find in the metadata that the card will have, at its place in release.yaml; waivers apply."""
    text = f"---\n{front_matter(Facts(spec, lock or Lock(), {}, None))}---\n"
    document = {"predicate": {"buildDefinition": {"externalParameters": {"spec": dict(spec.document)}}}}
    release = Release(spec.folder, Result(Provenance(document, [], []), {}, [], [], 0, 0), {FILE: text.encode()})
    found = [problem for check in checks() if check.code in CODES for problem in check.run(release)]
    for problem in apply_waivers(release, found, strict=False):
        yield replace(problem, where=spec.where(pointer_of(spec, problem.where.pointer or "")))


def pointer_of(spec: Spec, pointer: str) -> str:
    """Where release.yaml says what the card has at `pointer`."""
    first = next(iter(pointer_steps(pointer)), "")
    if first in TOP:
        return f"/{first}"
    if first == "base_model" and "base_model" not in spec.card:
        return "/sources/base_model"
    return f"/card{pointer}" if first else "/card"
