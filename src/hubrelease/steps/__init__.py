"""The steps of a build, one file each. Their order is builder.STEPS; here is only what they have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hubrelease.fetch import Sources
from hubrelease.spec import Spec
from hubrelease.tree import Tree


@dataclass(frozen=True)
class Build:
    """What a step works with. `before`: small files of the release that is replaced, by path, which a step may keep."""

    spec: Spec
    sources: Sources
    tree: Tree
    before: Mapping[str, bytes]


class Step(Protocol):
    """A step reads sources and adds to the tree, nothing else. Logging, timing and catching are round it, in builder.py."""

    name: str

    def skip(self, build: Build) -> str | None:
        """Why the step has nothing to do, shown to the user; None = run."""

    def run(self, build: Build) -> None:
        """Adds this step's files to the tree. Raises a ReleaseError with every problem at once."""
