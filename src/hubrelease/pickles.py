"""Pickles by their content: what a file would import and call if somebody loaded it. Nothing is ever unpickled.

Families: raw pickle streams of protocols 0 to 5 (joblib's among them), the zip archive of torch.save and its older tar and
bare forms, NumPy arrays of objects (.npy, .npz), any of these compressed or inside an archive, and Keras files with a
Lambda layer (its Python code is marshalled, not pickled, and runs all the same). Opcodes are those of CPython's
Modules/_pickle.c; the stack is followed as far as names of imports need it. Work and memory are bounded: Budget.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hubrelease.archives import (
    COMPRESSED,
    FileWindow,
    Memory,
    Part,
    Window,
    end_of_directory,
    first_member,
    tar_members,
    unpacked,
    zip_members,
)
from hubrelease.pickle_imports import is_dangerous
from hubrelease.pickle_stream import MAX_IMPORTS, STARTS, Import, Stream

if TYPE_CHECKING:
    from hubrelease.release import Release

HEAD_BYTES = 4096  # of a file that is only begun (verify hf://)
MAX_OPCODES = 300_000  # followed in one stream: below a second, and 5,000 tensors of torch.save
MAX_REST_BYTES = 64 * 2**20  # searched for imports where a stream can't be followed further
MAX_UNPACKED_BYTES = 16 * 2**20  # of a compressed file
MAX_NESTING = 3
MAX_STREAMS = 16  # the bare form of torch.save is five pickles in a row
ENOUGH = 64  # opcodes by which a pickle is known as one


@dataclass
class Budget:
    """What may still be spent on the files of one release, so that no archive of archives takes for ever."""

    opcodes: int = 3_000_000
    bytes: int = 512 * 2**20
    members: int = 500_000
    deep: bool = False

    def for_stream(self) -> int:
        return self.opcodes if self.deep else max(ENOUGH, min(MAX_OPCODES, self.opcodes))

    def for_bytes(self, limit: int) -> int:
        return self.bytes if self.deep else max(0, min(limit, self.bytes))


def deep_budget() -> Budget:
    return Budget(2**62, 2**62, 2**62, deep=True)


@dataclass
class Pickled:
    """What one file holds: `family` is empty for an archive that is `cut` off and whose content is not known.

    `unread` says what could not be followed.
    """

    family: str
    imports: set[Import] = field(default_factory=set)
    unread: str | None = None
    cut: bool = False

    @property
    def dangerous(self) -> list[str]:
        """module.name of each import that can do harm."""
        return sorted(f"{module}.{name}".lstrip(".") for module, name in self.imports if is_dangerous(module, name))

    def add(self, other: Pickled) -> None:
        self.imports |= other.imports
        self.unread = self.unread or other.unread


def pickles_of(release: Release) -> Mapping[str, Pickled]:
    """{path: Pickled} of every file that is a pickle or holds one, or is an archive without an end. OSError if one can't be read."""
    budget = deep_budget() if release.deep else Budget()
    known = {path for path, container in release.containers.all.items() if container.header} | release.overlay.keys()
    found = {path: look_into(release, path, budget) for path in sorted(release.files - known)}
    return {path: pickled for path, pickled in found.items() if pickled}


def look_into(release: Release, path: str, budget: Budget) -> Pickled | None:
    try:
        fd, info = release.folder.open_file(path)
    except OSError:
        return None  # a link, or a file that nobody may read: a finding of its own
    try:
        if path not in release.partial:
            return look(fd, info.st_size, budget)
        begun = look(fd, min(info.st_size, HEAD_BYTES), budget)
        return Pickled(begun.family, begun.imports, "only its beginning is here") if begun and begun.family else None
    finally:
        os.close(fd)


def look(fd: int, size: int, budget: Budget) -> Pickled | None:
    """What the file open as `fd` would run, or None where it is no pickle of any kind. OSError if it can't be read."""
    return inspect(FileWindow(fd, 0, size), budget, 0)


def inspect(window: Window, budget: Budget, nesting: int) -> Pickled | None:
    head = window.read(0, 512)
    if nesting > MAX_NESTING:
        return None
    if head.startswith(b"PK\3\4"):
        return inspect_zip(window, budget, nesting)
    if head.startswith(b"\x93NUMPY"):
        return inspect_numpy(window, budget)
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return inspect_keras(window.read(0, 2**20) + window.read(max(2**20, window.size - 2**20), 2**20))
    if head[257:262] == b"ustar":
        return inspect_tar(window, budget, nesting)
    if head.startswith(COMPRESSED):
        data = unpacked(window, head, budget.for_bytes(MAX_UNPACKED_BYTES))
        budget.bytes -= len(data)
        found = inspect(Memory(data), budget, nesting + 1) if data else None
        return found and Pickled(f"compressed {found.family}", found.imports, found.unread)
    return inspect_stream(window, head, budget)


# --------------------------------------------------------------------------------------------------------- containers


def inspect_numpy(window: Window, budget: Budget) -> Pickled | None:
    """An array of objects is a pickle behind a header (numpy.lib.format)."""
    head = window.read(0, 12)
    wide = head[6:7] > b"\1"
    length = int.from_bytes(head[8:12] if wide else head[8:10], "little")
    start = (12 if wide else 10) + length
    text = window.read(start - length, min(length, 2**16))
    if not re.search(rb"(?:'descr':\s*|,\s*)'\|?O\d?'", text):
        return None
    found = Pickled("NumPy array of objects")
    rest = Part(window, start, window.size - start)
    if stream := inspect_stream(rest, rest.read(0, 512), budget):
        found.add(stream)
    return found


def inspect_keras(text: bytes) -> Pickled | None:
    if re.search(rb'"class_name"\s*:\s*"(?:[\w.]+>)?Lambda"', text):
        return Pickled("Keras model with the marshalled code of a Lambda layer")
    return None


def inspect_zip(window: Window, budget: Budget, nesting: int) -> Pickled | None:
    if end_of_directory(window) is None:  # an archive that was cut off, or of which only the beginning is here
        return Pickled("zip archive of torch.save" if first_member(window).endswith(b"/data.pkl") else "", cut=True)
    result: Pickled | None = None
    for name, part in afforded(zip_members(window), budget):
        if UNLIKELY.search(name):
            continue
        keras = name == b"config.json"
        if inner := inspect_keras(part.read(0, 2**20)) if keras else inspect(part, budget, nesting + 1):
            result = result or Pickled(f"zip archive of a {inner.family}")
            if name == b"data.pkl" or name.endswith(b"/data.pkl"):
                result.family = "zip archive of torch.save"
            result.add(inner)
    return result


UNLIKELY = re.compile(rb"(^|/)data/\d+$|\.(py|debug_pkl|txt|md|storage)$")  # storages of tensors, TorchScript's sources


def inspect_tar(window: Window, budget: Budget, nesting: int) -> Pickled | None:
    """A tar archive: the oldest form of torch.save, NeMo's .nemo, model archives."""
    result: Pickled | None = None
    for name, part in afforded(tar_members(window), budget):
        if inner := inspect(part, budget, nesting + 1):
            result = result or Pickled("tar archive of torch.save" if name == b"pickle" else f"tar archive of a {inner.family}")
            result.add(inner)
    return result


def afforded(members: Iterator[tuple[bytes, Window]], budget: Budget) -> Iterator[tuple[bytes, Window]]:
    for member in members:
        if budget.members <= 0:
            return
        budget.members -= 1
        yield member


# ------------------------------------------------------------------------------------------------------------ streams

IMPORTS = re.compile(
    rb"c([A-Za-z_][\w.]{1,100})\n([A-Za-z_][\w.]{0,100})\n"  # GLOBAL
    rb"|\x8c.([A-Za-z_][\w.]{1,100})\x94?\x8c.([A-Za-z_][\w.]{0,100})\x94?\x93",  # two short strings and STACK_GLOBAL
    re.S,
)


def inspect_stream(window: Window, head: bytes, budget: Budget) -> Pickled | None:
    """One pickle, or several in a row. None for what is no pickle."""
    framed = len(head) > 2 and head[0] == 0x80 and head[1] <= 5
    if not framed and (not head or head[0] not in STARTS):
        return None
    result = Pickled(f"pickle of protocol {head[1]}" if framed else "pickle of protocol 0 or 1")
    position = 0
    for number in range(MAX_STREAMS):
        stream = Stream(window, position, budget.for_stream())
        stream.follow()
        budget.opcodes -= stream.opcodes
        if number == 0 and not stream.convincing(framed):
            return None
        result.imports |= stream.imports
        if stream.end is None:
            search_rest(window, stream, result, budget)
            break
        position = stream.end
        if (behind := window.read(position, 1)) != b"\x80" and (framed or not behind or behind not in STARTS):
            break
    return result


def search_rest(window: Window, stream: Stream, result: Pickled, budget: Budget) -> None:
    """Where a stream can't be followed (joblib writes arrays into it, or it is too long), imports are searched for by their form."""
    position, end = stream.position, min(window.size, stream.position + budget.for_bytes(MAX_REST_BYTES))
    budget.bytes -= end - position
    while position < end:
        for match in IMPORTS.finditer(window.read(position, 2**20 + 512)):
            if len(result.imports) < MAX_IMPORTS:
                result.imports.add(import_of(match))
        position += 2**20
    if stream.exhausted or end < window.size:
        result.unread = f"only its first {stream.opcodes} opcodes were followed"


def import_of(match: re.Match[bytes]) -> Import:
    """The import that a match shows. Bytes before GLOBAL may look like the beginning of the module's name: the harmful reading counts."""
    if match[3]:
        return match[3].decode(), match[4].decode()
    module, name = match[1].decode(), match[2].decode()
    readings = [module, *(module[at + 1 :] for at, letter in enumerate(module) if letter == "c")]
    harmful = (reading for reading in readings if reading and is_dangerous(reading, name))
    return next(harmful, module), name
