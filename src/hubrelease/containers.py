"""The weight files of a release as loaders see them: headers, indexes, and the weight set of each folder.

Headers are read once, with the strict parsers of weights.py and gguf.py; no tensor is read unless a check asks for its
bytes. What can't be read is absent here (header None) and its faults say why: checks report them, nobody raises.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hubrelease import gguf, weights
from hubrelease.collector import paused_collector
from hubrelease.gguf import GgufFile
from hubrelease.verify_release import lfs_pointer, path_fault, strict_json
from hubrelease.weights import ContainerFault, Fault, Header, Tensor

if TYPE_CHECKING:
    from hubrelease.release import Release

INDEX_SUFFIX = ".safetensors.index.json"
INDEX_SUFFIXES = (INDEX_SUFFIX, ".bin.index.json", ".h5.index.json", ".msgpack.index.json")  # one form, whatever the shards are
MAX_INDEXES = 100  # read in one release: pipelines of many models have some ten
MAX_INDEX_BYTES = 64 * 2**20  # as much as Release.json reads: some 400,000 tensors
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
    """A shard index. `weight_map` holds only well-formed rows; `fault` says why there are none, or fewer than in the file."""

    file: str
    weight_map: Mapping[str, str]
    metadata: Mapping[str, Any]
    fault: str | None = None

    @property
    def folder(self) -> str:
        return folder_of(self.file)


class Located(NamedTuple):
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
    """Every safetensors and GGUF file of a release, and every shard index."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.by_name: dict[str, Mapping[str, Tensor]] = {}

    @cached_property
    def all(self) -> Mapping[str, Container]:
        """{path: Container} of every *.safetensors file, adapters and side files included, sorted by path.

        On one core: two processes take longer (1,000 headers: 2.2 s against 3.7 s, handing 100,000 tensors over), and two
        threads gain nothing, since parsing JSON holds the interpreter lock.
        """
        with paused_collector():
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
    def ggufs(self) -> Mapping[str, GgufFile]:
        """{path: GgufFile} of every *.gguf file that is here whole."""
        reader = gguf.Reader()
        paths = [path for path in sorted(self.release.files - self.release.partial) if path.endswith(".gguf")]
        found = {path: self.read_gguf(reader, path) for path in paths}
        return {path: file for path, file in found.items() if file is not None}

    def read_gguf(self, reader: gguf.Reader, path: str) -> GgufFile | None:
        try:
            fd, info = self.release.folder.open_file(path)
        except OSError:
            return None
        try:
            pointer = lfs_pointer(os.pread(fd, 1024, 0)) if info.st_size < 1024 else None
            return None if pointer else reader.read(fd, info.st_size)
        finally:
            os.close(fd)

    @cached_property
    def indexes(self) -> Mapping[str, Index]:
        """{path: Index} of every *.safetensors.index.json file."""
        return {path: index for path, index in self.all_indexes.items() if path.endswith(INDEX_SUFFIX)}

    @cached_property
    def all_indexes(self) -> Mapping[str, Index]:
        """{path: Index} of the shard indexes of every framework."""
        return {path: self.read_index(path) for path in self.index_files[:MAX_INDEXES]}

    @cached_property
    def index_files(self) -> tuple[str, ...]:
        return tuple(path for path in sorted(self.release.files) if path.endswith(INDEX_SUFFIXES))

    def read_index(self, path: str) -> Index:
        value = self.release.json(path)
        if not isinstance(value, dict):
            return Index(path, {}, {}, self.why_unread(path))
        rows, metadata = value.get("weight_map"), value.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        if not isinstance(rows, dict):
            return Index(path, {}, metadata, "has no weight_map")
        names = {file for file in rows.values() if isinstance(file, str)}
        good = {file: file for file in names if path_fault(file) is None}  # also makes one string of the many for each file
        weight_map = {name: good[file] for name, file in rows.items() if isinstance(file, str) and file in good}
        fault = None if len(weight_map) == len(rows) else "weight_map holds something else than names of files of the release"
        return Index(path, weight_map, metadata, fault)

    def why_unread(self, path: str) -> str:
        try:
            data = self.release.read(path, MAX_INDEX_BYTES)
            if data is None:
                return f"is larger than {MAX_INDEX_BYTES} bytes and was not read"
            return "is a git-lfs pointer" if lfs_pointer(data) else f"is no JSON object but {type(strict_json(data)).__name__}"
        except (OSError, ValueError) as error:
            return f"is not strict JSON: {error}"

    @cached_property
    def indexed_sets(self) -> Mapping[str, WeightSet]:
        """{path of the index: the weights as it names them}."""
        return {path: self.indexed_set(index) for path, index in self.indexes.items()}

    @cached_property
    def sets_by_folder(self) -> Mapping[str, WeightSet]:
        """{folder: its WeightSet}, the release's root first. Adapters and drafts have sets of their own."""
        indexes: dict[str, Index] = {}
        for path, index in self.indexes.items():
            if index.folder not in indexes or path.rpartition("/")[2] == INDEX:
                indexes[index.folder] = index
        folders = {folder_of(path) for path in self.all} | indexes.keys()
        found = {folder: self.set_of(folder, indexes.get(folder)) for folder in sorted(folders)}
        return {folder: weights for folder, weights in found.items() if weights is not None}

    @property
    def sets(self) -> tuple[WeightSet, ...]:
        """One WeightSet a folder that holds model weights."""
        return tuple(self.sets_by_folder.values())

    @property
    def main(self) -> WeightSet | None:
        """The weight set of the root folder, None where there is none (an adapter alone, GGUF, …)."""
        return self.sets_by_folder.get("")

    def set_of(self, folder: str, index: Index | None) -> WeightSet | None:
        single = self.all.get(inside(folder, SINGLE))
        if single is not None:  # transformers takes the single file even where an index lies beside it
            own = index if index and index.file == inside(folder, INDEX) else None
            return WeightSet(folder, own, (single.file,), located([single]))
        return self.indexed_sets[index.file] if index else None

    def indexed_set(self, index: Index) -> WeightSet:
        paths = {file: inside(index.folder, file) for file in set(index.weight_map.values())}
        held = {file: self.tensors_of(path) for file, path in paths.items()}
        rows = ((name, paths[file], held[file].get(name)) for name, file in index.weight_map.items())
        tensors = {name: Located(path, tensor) for name, path, tensor in rows if tensor}
        return WeightSet(index.folder, index, tuple(sorted(paths.values())), tensors)

    def tensors_of(self, path: str) -> Mapping[str, Tensor]:
        """{name: Tensor} of one file; empty where its header can't be used."""
        if path not in self.by_name:
            container = self.all.get(path)
            self.by_name[path] = {t.name: t for t in container.header.tensors} if container and container.header else {}
        return self.by_name[path]

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


def inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
