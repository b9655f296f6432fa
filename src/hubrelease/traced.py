"""Whose figures a card's are: the evaluations of the release itself, and the names by which tables speak of it and of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hubrelease.claim_words import Vocabulary, key, whole_key
from hubrelease.evaluations import Evaluation
from hubrelease.subjects import parse

if TYPE_CHECKING:
    from hubrelease.release import Release

SHORT = 5  # a name of fewer characters is part of too many others


def own_evaluations(release: Release) -> list[Evaluation]:
    """Those that are not declared to be another model's, nor name one; all undeclared ones where none is left."""
    undeclared = [e for e in release.evaluations if e.file not in release.subjects.declared]
    return [e for e in undeclared if not any(release.subjects.others(e))] or undeclared


def vocabulary(release: Release) -> Vocabulary:
    own = own_evaluations(release)
    others = [e for e in release.evaluations if e not in own]
    bases = {whole_key(name.rpartition("/")[2]) for name in release.subjects.bases}
    mine = {key(form) for name in release.subjects.own for form in (name, name.rpartition("/")[2])}
    title = whole_key(release.card.title) if release.card else ""
    mine |= {title} if title not in bases else set()
    names = {word: e.model for e in others if e.model for word in keys_of(e.model, release.subjects.declared.get(e.file, ""))}
    foreign = {word for word in bases | set(names) if len(word) >= SHORT}
    elsewhere = {word: model for word, model in names.items() if word not in mine}
    named = tuple(e for e in release.evaluations if e.has_tasks)
    return Vocabulary(named, frozenset(mine - {""}), elsewhere, frozenset(foreign - mine))


def keys_of(model: str, declared: str) -> set[str]:
    tails = (parse(model).tail, declared.rpartition("/")[2])
    return {key(tail) for tail in tails if key(tail)}
