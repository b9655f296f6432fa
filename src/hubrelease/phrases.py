"""Words by language: the fixed phrases of the card (templates/locales/), and texts of release.yaml that are given by language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hubrelease import resources
from hubrelease.errors import CheckFailed, problem
from hubrelease.facts import Figure
from hubrelease.pieces import Pieces, Segment, figure_in
from hubrelease.spec import Spec

PLACE = re.compile(r"\{([a-z_]+)\}")


class NoPhrase(LookupError):
    """A template asks for a phrase that the catalogue of its language does not have."""


@cache
def known() -> tuple[str, ...]:
    """The languages that have a catalogue."""
    return tuple(sorted(path.stem for path in (resources.folder("templates") / "locales").glob("*.yaml")))


@cache
def catalogue(locale: str) -> Mapping[str, str]:
    """The phrases of a language. NoPhrase where there are none: an embedded spec can name any file."""
    import yaml

    if locale not in known():
        raise NoPhrase(f"there are no phrases for {locale[:20]}")
    text = (resources.folder("templates") / "locales" / f"{locale}.yaml").read_text("utf-8")
    found: dict[str, str] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe
    return found


def locales_of(spec: Spec) -> tuple[str, ...]:
    """The card's languages, the main one first. Without `card.locales` the one that card.language names, if we have it; else English."""
    if asked := spec.card.get("locales"):
        return tuple(asked)
    language = spec.card.get("language")
    return (language,) if language in known() else ("en",)


class Say:
    """say("key", name=value): the phrase in the card's language with values in its places. NoPhrase, KeyError where one lacks."""

    def __init__(self, locale: str) -> None:
        self.locale = locale

    def __call__(self, key: str, **values: object) -> Pieces:
        phrases = catalogue(self.locale)
        if key not in phrases:
            raise NoPhrase(f'templates/locales/{self.locale}.yaml has no phrase "{key}"')
        return Pieces(self.filled(key, phrases[key], values))

    def word(self, key: str, text: str) -> str:
        """The phrase that the catalogue has for a word of ours; `text` where it has none: a receipt's own word."""
        return catalogue(self.locale).get(key, text)

    def filled(self, key: str, phrase: str, values: Mapping[str, object]) -> Iterator[Segment]:
        at = 0
        for place in PLACE.finditer(phrase):
            if place[1] not in values:
                raise NoPhrase(f'the phrase "{key}" ({self.locale}) has a place for "{place[1]}", and the template gives none')
            yield phrase[at : place.start()], None
            yield from segments_of(values[place[1]])
            at = place.end()
        yield phrase[at:], None


def segments_of(value: object) -> tuple[Segment, ...]:
    if isinstance(value, Pieces):
        return value.segments
    figure: Figure | None = figure_in(value)
    return ((str(value), figure),)


def local(value: Any, locale: str, spec: Spec, pointer: str) -> str:
    """A text of release.yaml in one language: the text itself, or what a mapping gives for the language. CheckFailed (HR501)."""
    if not isinstance(value, Mapping):
        return str(value)
    if locale in value:
        return str(value[locale])
    message = f"has no text for {locale} (it has {', '.join(map(str, value))})"
    raise CheckFailed(problem("template-fault", spec.where(pointer), message, f'add "{locale}", or take it out of card.locales'))
