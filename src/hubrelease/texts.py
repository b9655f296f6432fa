"""The texts of a release, for checks that look for what must not be published: text files, header metadata, GGUF keys.

Binary files are told by their bytes, not by their names; files beyond MAX_BYTES are data and left out, and of large
vocabularies and indexes, which are lists of names, only the beginning is told. Each file is read again by each check that
asks: keeping them all would cost as much memory as the release has text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from hubrelease.manifest import WEIGHT_SUFFIXES
from hubrelease.strict_yaml import pointer_to

if TYPE_CHECKING:
    from hubrelease.release import Release

MAX_BYTES = 16 * 2**20
HEAD_BYTES = 8192
LIST_BYTES = 2 * 2**20  # of vocabularies and indexes
WEIGHTS = (*WEIGHT_SUFFIXES, ".npz", ".npy", ".parquet", ".arrow", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".mp4", ".wav", ".mp3", ".pdf")
VOCABULARIES = (
    ".index.json",
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "added_tokens.json",
    "tekken.json",
    "bpe.codes",
    ".tiktoken",
)


class Text(NamedTuple):
    """A text and where it stands. `pointer` is set for values of a container's metadata, where lines mean nothing."""

    file: str
    data: bytes
    pointer: str | None = None

    def line(self, position: int) -> int | None:
        return None if self.pointer is not None else self.data.count(b"\n", 0, position) + 1


def texts(release: Release) -> Iterator[Text]:
    """Every text. A file that can't be read is left out: reading it is another check's finding."""
    for path in sorted(release.files):
        if not path.endswith(WEIGHTS) or path.endswith(".safetensors.index.json"):
            data = text_of(release, path)
            if data is not None:
                yield Text(path, data)
    yield from metadata(release)


def metadata(release: Release) -> Iterator[Text]:
    """What the headers of safetensors and GGUF files say beside tensors; what a thousand shards say alike, once."""
    told: set[tuple[str, str]] = set()
    for path, container in release.containers.all.items():
        for key, value in (container.header.metadata if container.header else {}).items():
            if (key, value) in told:
                continue
            told.add((key, value))
            yield Text(path, f"{key}={value}".encode("utf-8", "surrogatepass"), pointer_to("__metadata__", key))
    for path, file in release.containers.ggufs.items():
        for key, said in file.keys.items():
            if isinstance(said, str):
                yield Text(path, said.encode("utf-8", "surrogatepass"), pointer_to(key))


def text_of(release: Release, path: str) -> bytes | None:
    """The bytes of a text file as UTF-8; None for one that is binary, too large, or can't be read."""
    entry = release.result.entries.get(path)
    data: bytes | None
    try:
        if is_vocabulary(path) and path not in release.overlay:
            data = release.folder.read(path, LIST_BYTES)
        elif path in release.overlay or (entry is not None and entry.size <= MAX_BYTES):
            data = release.read(path, MAX_BYTES)
        else:
            return None
    except OSError:
        return None
    if data is None:
        return None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # what Windows calls Unicode
        return data.decode("utf-16", "replace").encode("utf-8", "surrogatepass")
    return None if b"\0" in data[:HEAD_BYTES] else data


def is_vocabulary(path: str) -> bool:
    """True for the lists of tokens and tensors, whose entries are no statements."""
    return path.endswith(VOCABULARIES)
