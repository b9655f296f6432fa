"""`include:` of release.yaml: several YAML files laid over each other into one node, each value knowing its file."""

from __future__ import annotations

import os
from pathlib import Path

from hubrelease.errors import OutsideError, Problem, SpecError, Where, problem
from hubrelease.strict_yaml import Mapping, Node, Scalar, Sequence, compose, merge

MEND = "name a file inside the folder of release.yaml, by a relative path"


def load_merged(file: Path) -> Node:
    """The node of `file` laid over its includes, in their order. SpecError for each faulty include."""
    return load(file, file.parent, ())


def load(file: Path, folder: Path, chain: tuple[str, ...]) -> Node:
    name = os.path.relpath(file, folder).replace(os.sep, "/")
    node = compose(read(file, name), name)
    if not isinstance(node, Mapping):
        raise SpecError(problem("spec-invalid", Where(name, 1), "is not a mapping of keys", "start from `hubrelease init`"))
    merged: Node = Mapping((), name, 1)
    for item in include_items(node):
        merged = merge(merged, load(included(item, folder, (*chain, name)), folder, (*chain, name)))
    return merge(merged, node)


def include_items(node: Mapping) -> list[Scalar]:
    found = node.get("include")
    if found is None:
        return []
    if not isinstance(found, Sequence) or not all(isinstance(item, Scalar) for item in found.items):
        raise SpecError(problem("include-fault", Where(found.file, found.line, "/include"), "is not a list of files", MEND))
    return [item for item in found.items if isinstance(item, Scalar)]


def included(item: Scalar, folder: Path, chain: tuple[str, ...]) -> Path:
    def refuse(message: str) -> SpecError:
        found: Problem = problem("include-fault", Where(item.file, item.line, "/include"), message, MEND)
        return SpecError(found)

    if item.text.startswith(("/", "~")) or ".." in item.text.split("/") or not item.text:
        raise refuse(f'"{item.text}" leaves the folder of release.yaml')
    if item.text in chain:
        raise refuse(f'"{item.text}" includes itself ({" → ".join((*chain, item.text))})')
    path = folder / item.text
    inside = os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
    if not inside:
        raise refuse(f'"{item.text}" is a link that leaves the folder')
    if not path.is_file():
        raise refuse(f'"{item.text}" does not exist')
    return path


def read(file: Path, name: str) -> bytes:
    if not file.is_file():
        message = "does not exist" if not file.exists() else "is not a file"
        raise SpecError(problem("spec-invalid", Where(name), message, "run `hubrelease init`, or name the folder that holds it"))
    try:
        return file.read_bytes()
    except OSError as error:
        raise OutsideError(
            problem("local-file-missing", Where(name), f"could not be read: {error.strerror}", "give yourself read access")
        ) from None
