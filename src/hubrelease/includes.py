"""`include:` of release.yaml: several YAML files laid over each other into one node, each value knowing its file.

Paths are relative to the folder of release.yaml, in included files too. A file is read once, however often it is named.
"""

from __future__ import annotations

import os
from pathlib import Path

from hubrelease.errors import OutsideError, Problem, SpecError, Where, problem
from hubrelease.strict_yaml import MAX_BYTES, Mapping, Node, Scalar, Sequence, compose, merge
from hubrelease.verify_release import PROVENANCE

MAX_CHAIN = 16  # files that include files
MEND = "name a file inside the folder of release.yaml, by a relative path"


def load_merged(file: Path) -> Node:
    """The node of `file` laid over its includes, in their order. SpecError with every fault of every file."""
    return Loader(file.parent).load(file, ())


class Loader:
    """`done` holds each file's merged node: two files that include a third must not make the work grow as 2^n."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.done = folder, dict[str, Node]()

    def load(self, file: Path, chain: tuple[str, ...]) -> Node:
        real = os.path.realpath(file)
        if real not in self.done:
            self.done[real] = self.merged(file, (*chain, real))
        return self.done[real]

    def merged(self, file: Path, chain: tuple[str, ...]) -> Node:
        name = os.path.relpath(file, self.folder).replace(os.sep, "/")
        node = compose(read(file, name), name)
        if not isinstance(node, Mapping):
            raise SpecError(problem("spec-invalid", Where(name, 1), "is not a mapping of keys", "start from `hubrelease init`"))
        whole: Node = Mapping((), name, 1)
        problems: list[Problem] = []
        for number, item in enumerate(include_items(node)):
            try:
                whole = merge(whole, self.load(self.included(item, number, chain), chain))
            except SpecError as error:
                problems += error.problems
        if problems:
            raise SpecError(problems)
        return merge(whole, node)

    def included(self, item: Scalar, number: int, chain: tuple[str, ...]) -> Path:
        """The file that an item of `include` names. SpecError (HR105) with the line of the item."""
        path = self.folder / item.text
        real, folder = os.path.realpath(path), os.path.realpath(self.folder)
        if item.text.startswith(("/", "~")) or ".." in item.text.split("/") or not item.text:
            message = f'"{item.text[:100]}" leaves the folder of release.yaml'
        elif not real.startswith(folder.rstrip(os.sep) + os.sep):
            message = f'"{item.text[:100]}" is a link that leaves the folder'
        elif not os.path.isfile(real):
            message = f'"{item.text[:100]}" does not exist'
        elif real in chain:
            steps = [os.path.relpath(step, folder) for step in (*chain[chain.index(real) :], real)]
            message = f'"{item.text[:100]}" includes itself ({" → ".join(steps)})'
        elif len(chain) >= MAX_CHAIN:
            message = f'"{item.text[:100]}" is more than {MAX_CHAIN} includes away from release.yaml'
        else:
            return path
        raise SpecError(problem("include-fault", Where(item.file, item.line, f"/include/{number}"), message, MEND))


def include_items(node: Mapping) -> list[Scalar]:
    found = node.get("include")
    if found is None:
        return []
    if not isinstance(found, Sequence) or not all(isinstance(item, Scalar) for item in found.items):
        raise SpecError(problem("include-fault", Where(found.file, found.line, "/include"), "is not a list of files", MEND))
    return [item for item in found.items if isinstance(item, Scalar)]


def absent(file: Path) -> Problem:
    """release.yaml is not where it was looked for; the mend says what is there instead."""
    folder, name = os.path.split(file)
    if os.path.lexists(file):
        message, mend = "is not a file", "name a folder with release.yaml, or the file itself"
    elif name == "release.yaml" and os.path.isfile(os.path.join(folder, "release.yml")):
        message, mend = "does not exist", "rename release.yml, which is there, to release.yaml"
    elif name == "release.yaml" and os.path.isfile(os.path.join(folder, PROVENANCE)):
        message = "does not exist: the folder is a release that was built"
        mend = "change the release.yaml that it was built from, and build again"
    else:
        message, mend = "does not exist", "name the folder that holds release.yaml; `hubrelease init` writes one for a model folder"
    return problem("spec-invalid", Where(str(file)), message, mend)


def read(file: Path, name: str) -> bytes:
    """The bytes of a file, no more than compose needs to see that they are too many."""
    if not os.path.isfile(file):
        raise SpecError(absent(file))
    try:
        with open(file, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise OutsideError(
            problem("local-file-missing", Where(name), f"could not be read: {error.strerror}", "give yourself read access")
        ) from None
