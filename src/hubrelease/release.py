"""A release as checks see it: a folder, finished or about to be, read without following links; each part parsed once.

The bytes are hostile. Reading goes through verify_release.Folder (no links, regular files only, bounded), and a part
that can't be read is absent here and a finding there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hubrelease import verify_release
from hubrelease.verify_release import Result

if TYPE_CHECKING:
    from hubrelease.adapters import Adapter
    from hubrelease.card_text import Card
    from hubrelease.containers import Containers
    from hubrelease.evaluations import Evaluation
    from hubrelease.expected_tensors import Comparison
    from hubrelease.models import Model
    from hubrelease.pickles import Pickled
    from hubrelease.quantisation.found import Quantised
    from hubrelease.subjects import Subjects

# The parts' own modules are imported where they are first used: verify hashes meanwhile, and most releases need few.
MAX_JSON_BYTES = 64 * 2**20  # tokenizer.json of large vocabularies takes some 20 MB


class Release:
    """`result` is what holding the files against the provenance found. `overlay` holds files about to be written.

    `partial` names files of which only the beginning is really here (verify hf://); `deep` asks checks on data to read
    all tensors, not only scales.
    """

    def __init__(self, root: Path, result: Result, overlay: Mapping[str, bytes] | None = None, *,
                 partial: frozenset[str] = frozenset(), deep: bool = False) -> None:  # fmt: skip
        self.root, self.result, self.overlay = root, result, dict(overlay or {})
        self.partial, self.deep = partial, deep
        self.folder = verify_release.Folder(root)
        self.parsed: dict[str, Any] = {}

    @cached_property
    def files(self) -> frozenset[str]:
        """Every regular file, listed or not."""
        found = {path for path, entry in self.result.entries.items() if entry.kind == "file"}
        return frozenset(found | set(self.overlay))

    def read(self, path: str, limit: int = 16 * 2**20) -> bytes | None:
        """The bytes of a file of at most `limit` bytes; None where it is absent or larger. OSError if it can't be read."""
        if path in self.overlay:
            return self.overlay[path]
        if path not in self.files:
            return None
        data: bytes = self.folder.read(path, limit + 1)
        return data if len(data) <= limit else None

    def json(self, path: str) -> Any:
        """The value of a JSON file of the release, parsed once and strictly; None where it is absent or can't be parsed."""
        if path not in self.parsed:
            self.parsed[path] = self.parse_json(path)
        return self.parsed[path]

    def parse_json(self, path: str) -> Any:
        try:
            data = self.read(path, MAX_JSON_BYTES)
            return None if data is None else verify_release.strict_json(data)
        except (OSError, ValueError):
            return None  # reported by the checks on unreadable files and on JSON that is not JSON

    def config(self, path: str = "config.json") -> Mapping[str, Any]:
        """A JSON file that should hold an object; an empty mapping where it does not."""
        value = self.json(path)
        return value if isinstance(value, dict) else {}

    @cached_property
    def containers(self) -> Containers:
        """The safetensors files."""
        from hubrelease.containers import Containers

        return Containers(self)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The folders that hold a model: config and tensors side by side."""
        from hubrelease.models import models

        return tuple(models(self))

    @cached_property
    def comparisons(self) -> tuple[tuple[Model, Comparison], ...]:
        """Each model whose architecture is known, with what its tensors lack and what they have beyond it."""
        from hubrelease.expected_tensors import compare

        return tuple((model, found) for model in self.models if (found := compare(model)) is not None)

    @cached_property
    def quantised(self) -> tuple[Quantised, ...]:
        """Each folder's weights held against the quantisation that its config declares."""
        from hubrelease.quantisation.found import quantised_sets

        return quantised_sets(self)

    @cached_property
    def adapters(self) -> tuple[Adapter, ...]:
        """The folders that hold a PEFT adapter."""
        from hubrelease.adapters import adapters

        return tuple(adapters(self))

    @cached_property
    def card(self) -> Card | None:
        """README.md, parsed; None where it is absent or larger than any card. OSError if it can't be read."""
        from hubrelease import card_text

        data = self.read(card_text.FILE) if card_text.FILE not in self.partial else None
        return None if data is None else card_text.read(data)

    @cached_property
    def pages(self) -> Mapping[str, Card]:
        """{path: text} of the Markdown files that can show figures: the card first, then other pages. OSError as for `card`."""
        from hubrelease import card_text

        return card_text.pages(self)

    @cached_property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """What the receipts say was measured. OSError if one can't be read."""
        from hubrelease.evaluations import read_evaluations

        return read_evaluations(self)

    @cached_property
    def subjects(self) -> Subjects:
        """Of which models the receipts speak."""
        from hubrelease.subjects import Subjects

        return Subjects(self)

    @cached_property
    def pickles(self) -> Mapping[str, Pickled]:
        """The files that are pickles or hold one, and what loading them would import."""
        from hubrelease.pickles import pickles_of

        return pickles_of(self)

    @cached_property
    def missing(self) -> frozenset[str]:
        """Files that the provenance lists and that are not here: a partial download, which checks must not call a fault."""
        return frozenset(s.name for s in self.result.provenance.subjects if s.name not in self.result.entries)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The provenance statement; empty where there is none."""
        return self.result.provenance.document or {}

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """The spec that the provenance embeds; empty where it says nothing of that form."""
        found: Mapping[str, Any] = verify_release.spec_of(self.document)
        return found
