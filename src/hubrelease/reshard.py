"""Cuts safetensors weights into shards of another size: names, dtypes, shapes and bytes unchanged, one pass over the source.

Tensors keep the order of the source (shard by shard, by offset) and fill shards greedily, as huggingface_hub does; a
tensor larger than the limit gets a shard of its own. The headers of all output shards are known before the first byte
is written. A source file's digest is compared with the lock when its last byte was read; until then nothing counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from hubrelease import canonical, weights
from hubrelease.digest import key_of
from hubrelease.errors import CheckFailed, Problem, problem
from hubrelease.fetch import SourceFile
from hubrelease.steps import Build
from hubrelease.tree import Tree, Writer
from hubrelease.verify_release import CHUNK_BYTES, lfs_pointer, strict_json
from hubrelease.weights import ContainerFault, Header, Tensor

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
MEND = "fetch the source again, or correct it"


@dataclass(frozen=True)
class Part:
    """One source shard and its header."""

    file: SourceFile
    header: Header


@dataclass(frozen=True)
class Shard:
    """One output shard: its tensors in order, and the key of its content."""

    name: str
    tensors: tuple[Tensor, ...]
    key: str


def reshard(build: Build, files: Sequence[SourceFile], limit: int) -> list[SourceFile]:
    """Writes the shards and their index into the tree; returns the weight files that are not part of the sharded set."""
    by_path = {f.path: f for f in files}
    index = read_index(by_path.get(INDEX))
    members = sorted(set(index["weight_map"].values())) if index else [SINGLE]
    if absent := [name for name in members if name not in by_path]:
        raise unusable(f"{name} is not among the source's files" for name in absent)
    parts = [Part(by_path[name], header_of(by_path[name])) for name in members]
    check_index(parts, index)
    shards = plan(parts, limit)
    build.tree.need_room(sum(t.size for s in shards for t in s.tensors if not build.tree.pool.likely(s.key)))
    write_shards(build.tree, parts, shards, metadata_of(parts))
    if len(shards) > 1:
        build.tree.put(INDEX, index_bytes(shards, index))
    return [f for f in files if f.path not in {*members, INDEX}]


def unusable(messages: Iterable[str]) -> CheckFailed:
    found: list[Problem] = [problem("weights-unusable", "weights", message, MEND) for message in messages]
    return CheckFailed(found)


def read_index(file: SourceFile | None) -> dict[str, Any] | None:
    if file is None:
        return None
    try:
        index = strict_json(file.read())
        rows = index["weight_map"].items()
        if not all(isinstance(v, str) for _, v in rows):
            raise ValueError("weight_map holds something else than file names")
        if not rows:
            raise ValueError("weight_map is empty")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise unusable([f"{file.place} is no shard index: {error}"]) from None
    return dict(index)


def header_of(file: SourceFile) -> Header:
    with file.open() as stream:
        first = stream.read(8)
        if first.startswith(b"version ") and (pointer := lfs_pointer(first + stream.read(1024))):
            raise unusable([f"{file.place} is a git-lfs pointer, {pointer[1]} bytes promised"])
        try:
            text = read_exactly(stream, weights.header_length(first, file.digest.size))
            header, faults = weights.parse_header(text, file.digest.size)
        except ContainerFault as fault:
            header, faults = None, list(fault.faults)
    if header is None or faults:
        raise unusable(f"{file.place}: {fault.message}" for fault in faults)
    return header


def read_exactly(stream: BinaryIO, size: int) -> bytes:
    out = bytearray()
    while len(out) < size and (chunk := stream.read(min(CHUNK_BYTES, size - len(out)))):
        out += chunk
    return bytes(out)


def check_index(parts: Sequence[Part], index: dict[str, Any] | None) -> None:
    """The index and the headers must say the same; a tensor must not stand in two shards."""
    held: dict[str, str] = {}
    messages = []
    for part in parts:
        for tensor in part.header.tensors:
            if tensor.name in held:
                messages.append(f"{tensor.name} stands in {held[tensor.name]} and in {part.file.path}")
            held[tensor.name] = part.file.path
    mapped = index["weight_map"] if index else held
    messages += [
        f"the index maps {name} to {file}, whose header has no such tensor" for name, file in mapped.items() if held.get(name) != file
    ]
    messages += [f"{file} holds {name}, which the index does not name" for name, file in held.items() if name not in mapped]
    if messages:
        raise unusable(messages)


def plan(parts: Sequence[Part], limit: int) -> list[Shard]:
    groups: list[list[Tensor]] = [[]]
    filled = 0
    for tensor in (t for part in parts for t in part.header.tensors):
        if groups[-1] and filled + tensor.size > limit:
            groups.append([])
            filled = 0
        groups[-1].append(tensor)
        filled += tensor.size
    sources = [part.file.digest.sha256 for part in parts]
    count = len(groups)
    names = [SINGLE] if count == 1 else [f"model-{n:05d}-of-{count:05d}.safetensors" for n in range(1, count + 1)]
    return [
        Shard(name, tuple(group), key_of("reshard", sources, limit, number))
        for number, (name, group) in enumerate(zip(names, groups, strict=True))
    ]


def metadata_of(parts: Sequence[Part]) -> dict[str, str]:
    """What all shards agree on, and the `format` without which several versions of transformers fail."""
    common = set.intersection(*(set(part.header.metadata.items()) for part in parts))
    return {"format": "pt", **dict(common)}


def write_shards(tree: Tree, parts: Sequence[Part], shards: Sequence[Shard], metadata: dict[str, str]) -> None:
    """Streams every source file that a shard still needs, once."""
    todo = {shard.name for shard in shards if not tree.reuse_reserved(shard.name, shard.key)}
    wanted = {tensor.name: shard for shard in shards for tensor in shard.tensors if shard.name in todo}
    tree.progress.start("re-sharding", sum(t.size for s in shards for t in s.tensors if s.name in todo))
    with ExitStack() as stack:
        output = Output(tree, metadata, stack)
        for part in parts:
            if any(tensor.name in wanted for tensor in part.header.tensors):
                with tree.noted(part.file):
                    stream_part(part, wanted, output)
                output.remember()
            else:
                tree.confirm(part.file)
        output.switch(None)
        output.remember()
    tree.progress.finish()


class Output:
    """The output shard that is being written. Tensors arrive in order, so there is one at a time."""

    def __init__(self, tree: Tree, metadata: dict[str, str], stack: ExitStack) -> None:
        self.tree, self.metadata = tree, metadata
        self.stack = stack.enter_context(ExitStack())
        self.shard: Shard | None = None
        self.writer: Writer | None = None
        self.whole: list[Shard] = []

    def remember(self) -> None:
        """Every source read so far was the lock's: whole shards may be taken by later builds."""
        for shard in self.whole:
            self.tree.remember(shard.name, shard.key)
        self.whole = []

    def switch(self, shard: Shard | None) -> Writer | None:
        """The writer of `shard`; the one before is whole."""
        if shard is not self.shard:
            self.stack.close()
            self.whole += [self.shard] if self.shard else []
            self.shard, self.writer = shard, None
            if shard is not None:
                self.writer = self.stack.enter_context(self.tree.write(shard.name, "weights", reserved=True))
                rows = [(t.name, t.dtype, t.shape) for t in shard.tensors]
                self.writer.write(weights.header_bytes(rows, self.metadata))
        return self.writer


def stream_part(part: Part, wanted: dict[str, Shard], output: Output) -> None:
    with checked(part.file) as reader:
        reader.skip(part.header.data_start)
        for tensor in part.header.tensors:
            shard = wanted.get(tensor.name)
            writer = output.switch(shard) if shard else None
            for chunk in reader.chunks(tensor.size):
                if writer:
                    writer.write(chunk)


class Reader:
    """Reads a stream forward; `hashes` everything where somebody will ask for the digest. `size` in bytes so far."""

    def __init__(self, stream: BinaryIO, hashes: bool) -> None:
        self.stream, self.size = stream, 0
        self.sha256 = hashlib.sha256() if hashes else None

    def read_into(self, room: memoryview) -> int:
        """Fills `room` as far as the stream goes; bytes read."""
        filled = 0
        while filled < len(room) and (got := self.stream.readinto(room[filled : filled + CHUNK_BYTES])):  # type: ignore[attr-defined]
            if self.sha256 is not None:
                self.sha256.update(room[filled : filled + got])
            filled += got
        self.size += filled
        return filled

    def chunks(self, size: int) -> Iterator[memoryview]:
        """Pieces of the next `size` bytes, each good until the next is asked for."""
        room = memoryview(bytearray(min(CHUNK_BYTES, size)))
        while size and (got := self.read_into(room[: min(len(room), size)])):
            size -= got
            yield room[:got]

    def skip(self, size: int) -> None:
        if self.sha256 is None and self.stream.seekable():
            self.size = self.stream.seek(self.size + size)
            return
        for _ in self.chunks(size):
            pass


@contextmanager
def checked(file: SourceFile) -> Iterator[Reader]:
    """A Reader over a source file whose digest is compared with the lock at the end of the block.

    Where no lock says a digest (`hubrelease convert` of a folder) only the size is compared.
    """
    with file.open() as stream:
        reader = Reader(stream, hashes=bool(file.digest.sha256))
        yield reader
        for _ in reader.chunks(file.digest.size + 1 - reader.size):
            pass
    sha256 = reader.sha256.hexdigest() if reader.sha256 else ""
    if (sha256, reader.size) != (file.digest.sha256, file.digest.size):
        raise file.changed(sha256, reader.size)


def index_bytes(shards: Sequence[Shard], index: dict[str, Any] | None) -> bytes:
    metadata = index.get("metadata") if index else None
    kept = {k: v for k, v in metadata.items() if k == "total_parameters"} if isinstance(metadata, dict) else {}
    total = sum(t.size for s in shards for t in s.tensors)
    return canonical.dumps({"metadata": {**kept, "total_size": total}, "weight_map": {t.name: s.name for s in shards for t in s.tensors}})
