"""What provenance says that a release was made from: the rows of resolvedDependencies, as far as they are well formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hubrelease.release import Release

PATH = ("predicate", "buildDefinition", "resolvedDependencies")
BASE = "base_model"
UNDISCLOSED = "undisclosed/undisclosed"  # disclosure.py's stand-in for a private repository


@dataclass(frozen=True)
class Dependency:
    """`pointer` is its place in MODEL_PROVENANCE.json."""

    name: str
    uri: str
    digest: Mapping[str, Any]
    annotations: Mapping[str, Any]
    pointer: str

    @property
    def repository(self) -> str | None:
        """namespace/name of a repository of the Hub; None for everything else, and for one that is not disclosed."""
        name = self.uri.removeprefix("hf://").partition("@")[0]
        return name if self.uri.startswith("hf://") and name != UNDISCLOSED else None

    @property
    def license(self) -> str | None:
        found = self.annotations.get("license")
        return found if isinstance(found, str) and found.strip() else None


def dependencies(release: Release) -> Iterator[Dependency]:
    """The rows that are objects with an address."""
    return of_document(release.document)


def of_document(document: Mapping[str, Any]) -> Iterator[Dependency]:
    value: Any = document
    for step in PATH:
        value = value.get(step) if isinstance(value, dict) else None
    for number, row in enumerate(value if isinstance(value, list) else ()):
        if isinstance(row, dict) and isinstance(row.get("uri"), str):
            name, digest, notes = row.get("name"), row.get("digest"), row.get("annotations")
            yield Dependency(
                name if isinstance(name, str) else row["uri"],
                row["uri"],
                digest if isinstance(digest, dict) else {},
                notes if isinstance(notes, dict) else {},
                "/" + "/".join((*PATH, str(number))),
            )


def base_of(release: Release) -> Dependency | None:
    """Where the weights come from: the source that the spec names, base_model where it names none."""
    weights = release.spec.get("weights")
    wanted = weights.get("source", BASE) if isinstance(weights, dict) else BASE
    return next((found for found in dependencies(release) if found.name == wanted), None)
