"""Git's object formats and a folder of loose objects.

The ids are git's own because the bytes are: `git --git-dir` reads what this writes. Only what a Hub repository
holds is written: plain files (mode 100644), folders, commits without signatures.
"""

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FILE_MODE, FOLDER_MODE = "100644", "40000"


@dataclass(frozen=True)
class Commit:
    id: str
    tree: str
    parents: tuple[str, ...]
    author: str
    when: int
    message: str

    @property
    def title(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def description(self) -> str:
        return self.message.partition("\n")[2].strip()


@dataclass(frozen=True)
class Entry:
    """One line of a tree: `kind` is blob or tree."""

    path: str
    kind: str
    oid: str


def object_id(kind: str, data: bytes) -> str:
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()


def encode_commit(tree: str, parents: tuple[str, ...], author: str, when: int, message: str) -> bytes:
    signature = f"{author} <{author}@hub.invalid> {when} +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {signature}", f"committer {signature}", "", message]
    return ("\n".join(lines) + "\n").encode()


def decode_commit(oid: str, data: bytes) -> Commit:
    head, _, message = data.decode().partition("\n\n")
    fields = [line.partition(" ")[::2] for line in head.split("\n")]
    author, when = next(value for name, value in fields if name == "author").rsplit(" ", 1)[0].rsplit(" ", 1)
    parents = tuple(value for name, value in fields if name == "parent")
    return Commit(oid, fields[0][1], parents, author.partition(" <")[0], int(when), message.removesuffix("\n"))


def encode_tree(entries: Mapping[str, tuple[str, str]]) -> bytes:
    """Bytes of one folder from name → (mode, id). Git sorts a folder as if its name ended in a slash."""

    def order(name: str) -> bytes:
        return name.encode() + (b"/" if entries[name][0] == FOLDER_MODE else b"")

    lines = ((entries[name][0], name, entries[name][1]) for name in sorted(entries, key=order))
    return b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in lines)


def decode_tree(data: bytes) -> Iterator[tuple[str, str, str]]:
    """(mode, name, id) of each line."""
    while data:
        head, _, data = data.partition(b"\0")
        mode, _, name = head.decode().partition(" ")
        yield mode, name, data[:20].hex()
        data = data[20:]


class Objects:
    """Loose objects in a folder laid out as .git/objects."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, oid: str) -> Path:
        return self._folder / oid[:2] / oid[2:]

    def put(self, kind: str, data: bytes) -> str:
        oid = object_id(kind, data)
        path = self._path(oid)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data, 1))
        return oid

    def get(self, kind: str, oid: str) -> bytes:
        """The object's bytes; KeyError when there is no such object of that kind."""
        try:
            head, _, data = zlib.decompress(self._path(oid).read_bytes()).partition(b"\0")
        except OSError:
            raise KeyError(oid) from None
        if head.split()[0].decode() != kind:
            raise KeyError(oid)
        return data

    def put_tree(self, blobs: Mapping[str, str]) -> str:
        """Write the folders that hold path → blob id; the id of the topmost."""
        entries: dict[str, tuple[str, str]] = {}
        below: dict[str, dict[str, str]] = {}
        for path, oid in blobs.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = oid
            else:
                entries[name] = (FILE_MODE, oid)
        entries |= {name: (FOLDER_MODE, self.put_tree(inner)) for name, inner in below.items()}
        return self.put("tree", encode_tree(entries))

    def walk(self, tree: str, prefix: str = "") -> Iterator[Entry]:
        """Every folder and file below a tree, each folder before what it holds."""
        for mode, name, oid in decode_tree(self.get("tree", tree)):
            if mode == FOLDER_MODE:
                yield Entry(prefix + name, "tree", oid)
                yield from self.walk(oid, f"{prefix}{name}/")
            else:
                yield Entry(prefix + name, "blob", oid)
