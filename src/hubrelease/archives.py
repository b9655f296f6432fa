"""Windows on bytes, and what archives and compressed files hold: zip, tar, gzip, zlib, bzip2, xz. Read with bounds of our own.

Python's zipfile and tarfile raise a dozen kinds of exceptions for hostile archives and read whole directories at once;
what can't be read here ends the listing. Nothing is written, no member's name is ever a path.
"""

from __future__ import annotations

import bz2
import lzma
import os
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

MAX_MEMBERS = 100_000
MAX_DIRECTORY_BYTES = 32 * 2**20
MAX_UNPACKED_BYTES = 16 * 2**20  # of a compressed member
CHUNK_BYTES = 2**18


class Window(Protocol):
    """A range of bytes: a file, a member of an archive, something unpacked."""

    size: int

    def read(self, offset: int, count: int) -> bytes: ...


class FileWindow:
    def __init__(self, fd: int, start: int, size: int) -> None:
        self.fd, self.start, self.size = fd, start, size

    def read(self, offset: int, count: int) -> bytes:
        left = self.size - offset  # offsets come from the file and may be beyond what the system takes for one
        return os.pread(self.fd, min(count, left), self.start + offset) if left > 0 else b""


class Memory:
    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def read(self, offset: int, count: int) -> bytes:
        return self.data[offset : offset + count]


class Part:
    def __init__(self, window: Window, start: int, size: int) -> None:
        self.window, self.start = window, start
        self.size = max(0, min(size, window.size - start))

    def read(self, offset: int, count: int) -> bytes:
        return self.window.read(self.start + offset, max(0, min(count, self.size - offset)))


# ---------------------------------------------------------------------------------------------------------------- zip


def first_member(window: Window) -> bytes:
    head = window.read(0, 30)
    return window.read(30, int.from_bytes(head[26:28], "little")) if len(head) == 30 else b""


def end_of_directory(window: Window) -> tuple[int, int] | None:
    """(offset, size) of a zip's central directory; None where the archive has no end."""
    start = max(0, window.size - 65_557)
    tail = window.read(start, 65_557)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) < at + 22:
        return None
    size, offset = struct.unpack_from("<II", tail, at + 12)
    if 0xFFFFFFFF in (size, offset) and at >= 20 and tail[at - 20 : at - 16] == b"PK\6\7":
        (where,) = struct.unpack_from("<Q", tail, at - 12)
        record = window.read(where, 56) if where < window.size else b""
        if record.startswith(b"PK\6\6") and len(record) == 56:
            size, offset = struct.unpack_from("<QQ", record, 40)
    return offset, size


def zip_members(window: Window) -> Iterator[tuple[bytes, Window]]:
    """(name, content) of each member by the central directory, as torch and zipfile read it."""
    offset, size = end_of_directory(window) or (0, 0)
    directory = window.read(offset, min(size, MAX_DIRECTORY_BYTES)) if offset < window.size else b""
    at = 0
    for _ in range(MAX_MEMBERS):
        if len(directory) < at + 46 or directory[at : at + 4] != b"PK\1\2":
            return
        method, packed, plain = *struct.unpack_from("<H", directory, at + 10), *struct.unpack_from("<II", directory, at + 20)
        name_size, extra_size, comment_size = struct.unpack_from("<HHH", directory, at + 28)
        (local,) = struct.unpack_from("<I", directory, at + 42)
        name = directory[at + 46 : at + 46 + name_size]
        extra = directory[at + 46 + name_size : at + 46 + name_size + extra_size]
        plain, packed, local = wide_sizes(extra, plain, packed, local)
        if content := member_content(window, local, method, packed):
            yield name, content
        at += 46 + name_size + extra_size + comment_size


def wide_sizes(extra: bytes, *sizes: int) -> list[int]:
    """The sizes of a member, those of 0xFFFFFFFF from the zip64 field in `extra`."""
    found = list(sizes)
    while len(extra) >= 4:
        tag, length = struct.unpack_from("<HH", extra)
        if tag == 1:
            numbers = iter(struct.unpack_from(f"<{min(length, len(extra) - 4) // 8}Q", extra, 4))
            return [next(numbers, size) if size == 0xFFFFFFFF else size for size in found]
        extra = extra[4 + length :]
    return found


def member_content(window: Window, local: int, method: int, packed: int) -> Window | None:
    head = window.read(local, 30) if local < window.size else b""
    if len(head) < 30 or not head.startswith(b"PK\3\4"):
        return None
    start = local + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    part = Part(window, start, packed)
    if method == 0:
        return part
    return Memory(inflated(part, zlib.decompressobj(-15), MAX_UNPACKED_BYTES)) if method == 8 else None


# ---------------------------------------------------------------------------------------------------------------- tar


def tar_members(window: Window) -> Iterator[tuple[bytes, Window]]:
    at = 0
    for _ in range(MAX_MEMBERS):
        head = window.read(at, 512)
        if len(head) < 512 or not head.strip(b"\0"):
            return
        field_bytes = head[124:136]
        if field_bytes[0] & 0x80:
            size = int.from_bytes(field_bytes[1:], "big")
        else:
            digits = field_bytes.strip(b"\0 ")
            if digits and not re.fullmatch(rb"[0-7]+", digits):
                return
            size = int(digits or b"0", 8)
        if head[156:157] in (b"0", b"\0"):
            yield head[:100].rstrip(b"\0"), Part(window, at + 512, size)
        at += 512 + size + -size % 512


# -------------------------------------------------------------------------------------------------------- compression

COMPRESSED = (b"\x1f\x8b\x08", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"BZh", b"\xfd7zXZ\0", b"\x5d\0\0")


def unpacked(window: Window, head: bytes, limit: int) -> bytes:
    """The first `limit` bytes of a compressed file; empty where it is none after all."""
    if head.startswith(b"BZh"):
        return inflated(window, bz2.BZ2Decompressor(), limit)
    if head.startswith((b"\xfd7z", b"\x5d\0\0")):
        return inflated(window, lzma.LZMADecompressor(memlimit=2**27), limit)
    return inflated(window, zlib.decompressobj(47), limit)


def inflated(window: Window, machine: Any, limit: int) -> bytes:
    out, offset = bytearray(), 0
    try:
        while len(out) < limit and not machine.eof and (data := window.read(offset, CHUNK_BYTES)):
            offset += len(data)
            out += machine.decompress(data, limit - len(out))
            while len(out) < limit and (tail := getattr(machine, "unconsumed_tail", None)):  # zlib hands back what it had no room for
                out += machine.decompress(tail, limit - len(out))
            while len(out) < limit and not getattr(machine, "needs_input", True) and not machine.eof:  # bz2 and lzma keep it
                out += machine.decompress(b"", limit - len(out))
    except (zlib.error, lzma.LZMAError, EOFError, ValueError):
        return bytes(out)
    except OSError as error:  # what bz2 raises for bytes that are not its own
        if error.errno is not None:
            raise
    return bytes(out)
