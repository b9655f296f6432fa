"""Of which model a receipt speaks: the forms in which harnesses name one, and whether that is the release.

Names come as repository ids (with a revision behind @), Hub cache snapshots, local folders and names that a server was
told to answer to. A local folder or a server's name that is none we know says nothing, and nothing is said about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hubrelease.claim_words import words
from hubrelease.dependencies import dependencies
from hubrelease.evaluations import Evaluation
from hubrelease.front_matter import texts_of
from hubrelease.hub_lists import is_local_path, is_repo_id, is_training_folder

if TYPE_CHECKING:
    from hubrelease.release import Release

SNAPSHOT = re.compile(r"models--([^/\\]+?)--([^/\\]+)(?:[/\\]snapshots[/\\]([0-9a-f]{7,64}))?")
URL = re.compile(r"(?:hf://|https?://(?:www\.)?(?:huggingface\.co|hf\.co)/)(?:models/)?")
REVISION = re.compile(r"@[\w./-]+$|:[0-9a-f]{7,64}$")
FOLDER_WORDS = words(  # first steps of a relative path that look like a namespace
    "out output outputs dist build builds model models checkpoint checkpoints ckpt ckpts result results run runs data weights tmp temp"
    " saved save saves exp exps experiment experiments release releases workspace work home mnt root app export exports merged final"
    " quantized local cache"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A model's name taken apart. `kind` is hub (namespace/name), local (a folder) or served (a bare name)."""

    kind: str
    name: str
    tail: str
    revision: str | None = None


def parse(text: str) -> Subject:
    """The Subject that a harness's text names."""
    name = URL.sub("", text.strip().strip("\"'"))
    if found := SNAPSHOT.search(name):
        return Subject("hub", f"{found[1]}/{found[2]}", found[2], found[3])
    revision = found[0][1:] if (found := REVISION.search(name)) else None
    name = REVISION.sub("", name).rstrip("/\\")
    tail = re.split(r"[/\\]", name)[-1]
    if is_local_path(name) or is_training_folder(name):
        return Subject("local", name, tail)
    if "/" not in name:
        return Subject("served", name, tail)
    is_folder = name.split("/", 1)[0].lower() in FOLDER_WORDS or not is_repo_id(name)
    return Subject("local" if is_folder else "hub", name, tail, revision)


def key(name: str) -> str:
    """A name for comparison: small letters, and the separators that file systems force on ids made one."""
    return re.sub(r"__|--", "/", name.lower())


class Subjects:
    """The names of a release, of its bases, and of what its spec declares its receipts to be about."""

    def __init__(self, release: Release) -> None:
        self.release = release

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The release's repository ids; empty where nothing says them."""
        publish = self.release.spec.get("publish")
        given = (self.release.spec.get("name"), publish.get("repo_id") if isinstance(publish, dict) else None)
        return tuple(dict.fromkeys(name for name in given if isinstance(name, str) and name.strip()))

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """Repository ids that provenance and card give as what the release was made from."""
        card = self.release.card
        stated = [item.text for item in texts_of(card.front.get("base_model"))] if card else []
        resolved = [found.repository for found in dependencies(self.release) if found.repository]
        return tuple(dict.fromkeys([*resolved, *stated]))

    @cached_property
    def declared(self) -> dict[str, str]:
        """{path of a receipt: model} of benchmarks[].of in the spec."""
        rows = self.release.spec.get("benchmarks")
        found = {}
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("of"), str) and row["of"].strip():
                source = row.get("receipt")
                path = row.get("as") or (f"benchmarks/{source.rpartition('/')[2]}" if isinstance(source, str) else None)
                if isinstance(path, str):
                    found[path] = row["of"]
        return found

    def is_own(self, subject: Subject) -> bool:
        """True if the subject can be the release, under any namespace and in any folder."""
        whole = {key(name) for name in self.own}
        tails = {name.rpartition("/")[2] for name in whole}
        if key(subject.name) in whole or key(subject.tail).rpartition("/")[2] in tails:
            return True
        return subject.kind == "local" and any(key(part) in tails | whole for part in re.split(r"[/\\]", subject.name))

    def is_other(self, subject: Subject, evaluation: Evaluation) -> bool:
        """True if the subject is certainly another model than the release."""
        if not self.own or self.is_own(subject):
            return False
        if subject.kind == "hub" or evaluation.is_remote:
            return True
        return any(same(subject, base) for base in self.bases)

    def others(self, evaluation: Evaluation) -> Iterator[tuple[str, Subject]]:
        """(text, subject) of the names in a receipt that are another model's."""
        for text in dict.fromkeys(name for name in (evaluation.model, evaluation.named) if name):
            subject = parse(text)
            if self.is_other(subject, evaluation):
                yield text, subject


def same(subject: Subject, name: str) -> bool:
    """True if the subject can be the model of this name."""
    wanted = key(name)
    if subject.kind == "hub":
        return key(subject.name) == wanted
    return wanted.rpartition("/")[2] == key(subject.tail).rpartition("/")[2]
