"""The marked blocks of the cards that are there: README.md beside release.yaml, or in the release, and its translations."""

from __future__ import annotations

from pathlib import Path

from hubrelease import free_text
from hubrelease.cards import CARD, apart_locales, path_of
from hubrelease.free_text import Kept
from hubrelease.spec import Spec

MAX_CARD_BYTES = 4 * 2**20


def kept_beside(spec: Spec, target: Path | None = None) -> Kept:
    """Of the card in the folder of `spec`; `target`, if it is there, stands in for README.md."""
    first = target if target and target.is_file() else spec.folder / CARD
    found = free_text.read(read_or_none(first), first.name)
    for path in (path_of(locale) for locale in apart_locales(spec)):
        found = free_text.together(found, free_text.read(read_or_none(spec.folder / path), path))
    return found


def read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.stat().st_size <= MAX_CARD_BYTES else None
    except OSError:
        return None
