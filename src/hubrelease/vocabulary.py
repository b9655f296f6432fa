"""Tokens and special ids of a folder: tokenizer.json, its older siblings, and the ids that configs name.

What a file says in an unexpected form is left out: another reader would stop there, and that is no statement about ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hubrelease.models import as_mapping

if TYPE_CHECKING:
    from hubrelease.release import Release

MAX_TEXT_BYTES = 16 * 2**20


class Token(NamedTuple):
    """A token as one file names it."""

    text: str
    id: int
    file: str
    pointer: str


class Vocabulary:
    """The tokenizer of one folder."""

    def __init__(self, release: Release, folder: str = "") -> None:
        self.release, self.folder = release, folder

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name

    def mapping(self, name: str) -> Mapping[str, Any]:
        return self.release.config(self.path(name))

    @cached_property
    def config_file(self) -> str:
        return self.path("tokenizer_config.json")

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return self.mapping("tokenizer_config.json")

    @cached_property
    def fast(self) -> Mapping[str, Any]:
        return self.mapping("tokenizer.json")

    @cached_property
    def added(self) -> tuple[Token, ...]:
        """Tokens added to the vocabulary, from every file that lists some."""
        return (*self.added_fast(), *self.added_decoder(), *self.added_legacy())

    def added_fast(self) -> Iterator[Token]:
        rows = self.fast.get("added_tokens")
        for number, row in enumerate(rows if isinstance(rows, list) else ()):
            if isinstance(row, dict) and is_id(row.get("id")) and isinstance(row.get("content"), str):
                yield Token(row["content"], row["id"], self.path("tokenizer.json"), f"/added_tokens/{number}")

    def added_decoder(self) -> Iterator[Token]:
        for key, row in as_mapping(self.config.get("added_tokens_decoder")).items():
            if key.isascii() and key.isdigit() and len(key) < 10 and isinstance(row, dict) and isinstance(row.get("content"), str):
                yield Token(row["content"], int(key), self.config_file, f"/added_tokens_decoder/{key}")

    def added_legacy(self) -> Iterator[Token]:
        for text, number in self.mapping("added_tokens.json").items():
            if is_id(number):
                yield Token(text, number, self.path("added_tokens.json"), "")

    @cached_property
    def base(self) -> tuple[str, Mapping[str, int]]:
        """(file, {token: id}) of the vocabulary proper; empty where none of the files holds one in a known form."""
        vocab = as_mapping(self.fast.get("model")).get("vocab")
        if isinstance(vocab, dict):
            return self.path("tokenizer.json"), {text: number for text, number in vocab.items() if is_id(number)}
        if isinstance(vocab, list):  # Unigram: [piece, score], the place is the id
            pieces = ((row[0], place) for place, row in enumerate(vocab) if isinstance(row, list) and row and isinstance(row[0], str))
            return self.path("tokenizer.json"), dict(pieces)
        if found := self.mapping("vocab.json"):
            return self.path("vocab.json"), {text: number for text, number in found.items() if is_id(number)}
        return self.path("vocab.txt"), self.word_pieces()

    def word_pieces(self) -> dict[str, int]:
        try:
            data = self.release.read(self.path("vocab.txt"), MAX_TEXT_BYTES)
        except OSError:
            data = None  # told by the check on files that can't be read
        lines = data.decode("utf-8", "replace").split("\n") if data else []
        return {line.rstrip("\r"): number for number, line in enumerate(lines[:-1] if lines and not lines[-1] else lines)}

    @cached_property
    def last(self) -> Token | None:
        """The token with the highest id of the vocabulary proper."""
        file, ids = self.base
        text = max(ids, key=lambda t: ids[t], default=None)
        return None if text is None else Token(text, ids[text], file, "/model/vocab" if file.endswith("tokenizer.json") else "")

    def id_of(self, text: str) -> int | None:
        """The id of a token's text: an added one goes before one of the vocabulary."""
        return next((t.id for t in self.added if t.text == text), self.base[1].get(text))

    def special(self, name: str) -> str | None:
        """The text of eos_token and the like; some tools keep it in special_tokens_map.json only."""
        for holder in (self.config, self.mapping("special_tokens_map.json")):
            value = holder.get(name)
            value = value.get("content") if isinstance(value, dict) else value
            if isinstance(value, str):
                return value
        return None


def is_id(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**31


def ids(value: object) -> frozenset[int]:
    """The ids that a config gives: one, or a list of them."""
    found = value if isinstance(value, list) else [value]
    return frozenset(v for v in found if isinstance(v, int) and is_id(v))
