"""The safetensors files of a release as loaders see them: headers, indexes, and the weight set of each folder.

Headers are read once, with weights.py's own strict parser; no tensor is read unless a check asks for its bytes. What
can't be read is absent here (header None) and its faults say why: checks report them, nobody raises.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hubrelease import weights
from hubrelease.verify_release import lfs_pointer
from hubrelease.weights import ContainerFault, Fault, Header, Tensor

if TYPE_CHECKING:
    from hubrelease.release import Release

INDEX_SUFFIX = ".safetensors.index.json"
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True, slots=True)
class Container:
    """One safetensors file. `pointer` is (sha256, size) where a git-lfs pointer stands in its place."""

    file: str
    size: int
    header: Header | None
    faults: tuple[Fault, ...] = ()
    pointer: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """A shard index. `weight_map` holds only well-formed rows; `fault` says why it is empty where it can't be read."""

    file: str
    weight_map: Mapping[str, str]
    metadata: Mapping[str, Any]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Located:
    """A tensor and the file that holds it."""

    file: str
    tensor: Tensor


@dataclass(frozen=True)
class WeightSet:
    """The weights that a loader takes from one folder: a single file, or the files that an index names.

    `tensors` is the loader's view: for an indexed set, each tensor in the file that the index names and only if that file
    holds it; `files` are paths in the release of the files that belong to the set (named by it, present or not).
    """

    folder: str
    index: Index | None
    files: tuple[str, ...]
    tensors: Mapping[str, Located] = field(repr=False)


class Containers:
    """Every safetensors file of a release."""

    def __init__(self, release: Release) -> None:
        self.release = release

    @cached_property
    def all(self) -> Mapping[str, Container]:
        """{path: Container} of every *.safetensors file, adapters and side files included, sorted by path."""
        return {path: self.read(path) for path in sorted(self.release.files) if path.endswith(".safetensors")}

    def read(self, path: str) -> Container:
        try:
            fd, info = self.release.folder.open_file(path)
        except OSError:
            return Container(path, 0, None)  # reported as a file that can't be read, a link, …
        try:
            size = info.st_size
            pointer = lfs_pointer(os.pread(fd, 1024, 0)) if size < 1024 else None
            if pointer:
                return Container(path, size, None, (), pointer)
            length = weights.header_length(os.pread(fd, 8, 0), size)
            header, faults = weights.parse_header(os.pread(fd, length, 8), size)
            return Container(path, size, header, tuple(faults))
        except ContainerFault as fault:
            return Container(path, size, None, fault.faults)
        finally:
            os.close(fd)

    @cached_property
    def indexes(self) -> Mapping[str, Index]:
        """{path: Index} of every *.safetensors.index.json file."""
        return {path: self.read_index(path) for path in sorted(self.release.files) if path.endswith(INDEX_SUFFIX)}

    def read_index(self, path: str) -> Index:
        value = self.release.json(path)
        if not isinstance(value, dict):
            return Index(path, {}, {}, "is not a JSON object")
        rows, metadata = value.get("weight_map"), value.get("metadata")
        if not isinstance(rows, dict):
            return Index(path, {}, {}, "has no weight_map")
        good = {name: file for name, file in rows.items() if isinstance(file, str)}
        fault = None if len(good) == len(rows) else "weight_map holds something else than file names"
        return Index(path, good, metadata if isinstance(metadata, dict) else {}, fault)

    @cached_property
    def sets(self) -> tuple[WeightSet, ...]:
        """One WeightSet a folder that holds model weights, the release's root first. Adapters and drafts have sets of their own."""
        folders = {folder_of(path) for path in (*self.all, *self.indexes)}
        return tuple(found for folder in sorted(folders) if (found := self.set_of(folder)) is not None)

    @property
    def main(self) -> WeightSet | None:
        """The weight set of the root folder, None where there is none (an adapter alone, GGUF, …)."""
        return next((s for s in self.sets if s.folder == ""), None)

    def set_of(self, folder: str) -> WeightSet | None:
        prefix = f"{folder}/" if folder else ""
        single = self.all.get(prefix + SINGLE)
        if single is not None:  # transformers takes the single file even where an index lies beside it
            return WeightSet(folder, self.indexes.get(prefix + INDEX), (single.file,), located([single]))
        index = self.indexes.get(prefix + INDEX) or next((i for p, i in self.indexes.items() if folder_of(p) == folder), None)
        if index is None:
            return None
        files = tuple(sorted({prefix + file for file in index.weight_map.values()}))
        return WeightSet(folder, index, files, self.mapped(index, prefix))

    def mapped(self, index: Index, prefix: str) -> dict[str, Located]:
        held = {path: {t.name: t for t in c.header.tensors} for path, c in self.all.items() if c.header}
        rows = ((name, prefix + file) for name, file in index.weight_map.items())
        return {name: Located(file, held[file][name]) for name, file in rows if name in held.get(file, {})}

    def data(self, located: Located, limit: int) -> bytes | None:
        """The bytes of a tensor; None where it has more than `limit` or is not here. OSError if it can't be read."""
        header = self.all[located.file].header
        if header is None or located.tensor.size > limit or located.file in self.release.partial:
            return None
        fd, _ = self.release.folder.open_file(located.file)
        try:
            return os.pread(fd, located.tensor.size, header.data_start + located.tensor.begin)
        finally:
            os.close(fd)

    def chunks(self, located: Located, size: int = 2**20) -> Iterator[bytes]:
        """The bytes of a tensor in pieces of `size`, for those that are not to be held whole."""
        header = self.all[located.file].header
        if header is None or located.file in self.release.partial:
            return
        fd, _ = self.release.folder.open_file(located.file)
        try:
            start, end = header.data_start + located.tensor.begin, header.data_start + located.tensor.end
            for position in range(start, end, size):
                yield os.pread(fd, min(size, end - position), position)
        finally:
            os.close(fd)


def located(containers: list[Container]) -> dict[str, Located]:
    return {t.name: Located(c.file, t) for c in containers if c.header for t in c.header.tensors}


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]
