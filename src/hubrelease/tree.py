"""The staging folder: append-only, four verbs (put, copy, list, finish), so that it can be an object store later.

A file is hashed while it is written, in one read of its source. Writing a path twice is an error, as is a path that
can't travel: absolute, with `..`, not NFC, or equal to another one but for case. Modes are 644 and 755 whatever the
umask; holes of sparse files stay holes; reflinks are used where the file system can.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from hubrelease import verify_release
from hubrelease.errors import CheckFailed, OutsideError, problem
from hubrelease.fetch import SourceFile
from hubrelease.identities import Journal, Known, Pool, content_key, identity_of
from hubrelease.manifest import Entry, role_of
from hubrelease.progress import SILENT, Progress

FICLONE = 0x40049409  # linux/fs.h: share the other file's extents
FILE_MODE, FOLDER_MODE = 0o644, 0o755
LINKED = "linked:"  # before the key of a file that is the user's own under a second name: taken again only with --link
ZEROS = bytes(verify_release.CHUNK_BYTES)


@dataclass(frozen=True, slots=True)
class Copy:
    """A source file and the path that it gets in the tree."""

    path: str
    file: SourceFile


@dataclass
class Tree:
    """A folder that grows file by file. `link` allows hard links to the user's own files."""

    root: Path
    journal: Journal
    pool: Pool
    jobs: int = 2
    link: bool = False
    progress: Progress = SILENT
    entries: dict[str, Entry] = field(default_factory=dict)
    folded: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    origins: list[Known] = field(default_factory=list)
    reused: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, path: str, data: bytes, role: str | None = None) -> Entry:
        """A small file with these bytes."""
        with self.write(path, role) as out:
            out.write(data)
        return self.entries[path]

    def remember(self, path: str, key: str) -> None:
        """Lets later builds take the file `path` of this tree by the key of what it was made from."""
        entry = self.entries[path]
        with disk(path), self.lock:
            self.journal.add(Known(key, entry.sha256, self.root / path, identity_of(self.root / path)))
            self.keys[path] = key

    @contextlib.contextmanager
    def write(self, path: str, role: str | None = None, reserved: bool = False) -> Iterator[Writer]:
        """A Writer for a file that is made piece by piece; it is part of the tree when the block ends without error.

        It is not journalled: call `remember` once everything that it was made from has proved to be what it should be.
        """
        if not reserved:
            self.reserve(path)
        with disk(path), self.created(path) as fd:
            writer = Writer(fd, self.progress.advance)
            yield writer
            self.enter(path, writer.sha256.hexdigest(), writer.size, role)

    def copy(self, item: Copy) -> Entry:
        """A source file, compared with the lock in the same read. Taken from the pool where its content is there."""
        self.reserve(item.path)
        digest = item.file.digest
        if self.reuse(item.path, content_key(digest.sha256)):
            self.confirm(item.file)
            self.progress.advance(digest.size)
        else:
            self.transfer(item)
        return self.entries[item.path]

    def confirm(self, file: SourceFile) -> None:
        """Raises the error of a changed file if its owner changed it after its content came into the pool.

        A file that is gone is none: what the lock says is at hand, and nobody could have meant other bytes.
        """
        origin = file.origin()
        if origin is None or not origin.exists():
            return
        if known := self.pool.find(origin_key(origin, file)):
            self.origins.append(known)
            return
        with self.noted(file), file.open() as source:
            sha256, size = verify_release.hash_fd(os.dup(source.fileno()), file.digest.size)
            if (sha256, size) != (file.digest.sha256, file.digest.size):
                raise file.changed(sha256, size)

    @contextlib.contextmanager
    def noted(self, file: SourceFile) -> Iterator[None]:
        """Remembers, when the block has found the file to be the lock's, which file that was."""
        origin = file.origin()
        try:
            before = identity_of(origin) if origin else None
        except OSError:
            before = None
        yield
        if origin and before:
            known = Known(origin_key(origin, file), file.digest.sha256, origin, before)
            with disk(file.path), self.lock:
                self.journal.add(known)
                self.origins.append(known)

    def copy_all(self, items: Sequence[Copy], label: str) -> None:
        """Several source files, `jobs` at a time. OutsideError before the first byte where the disk has no room."""
        new = [item.file.digest.size for item in items if not self.pool.likely(content_key(item.file.digest.sha256))]
        self.need_room(sum(new))
        self.progress.start(label, sum(item.file.digest.size for item in items))
        largest_first = sorted(items, key=lambda item: -item.file.digest.size)
        verify_release.in_threads(self.copy, largest_first, self.jobs)
        self.progress.finish()

    def reuse_reserved(self, path: str, key: str) -> bool:
        """Reserves `path` and fills it from the pool if something with that key is there; write it with reserved=True if not."""
        self.reserve(path)
        return self.reuse(path, key)

    def reuse(self, path: str, key: str, role: str | None = None) -> bool:
        """True if a file with that content key was at hand and is now in the tree under `path`."""
        known = self.pool.find(key)
        if known is None:
            return False
        target = self.place(path)
        try:
            os.link(known.path, target)
            fd = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False  # other file system, no links here, gone meanwhile: it is made again
        try:
            if not key.startswith(LINKED):
                os.fchmod(fd, FILE_MODE)
            self.add(path, known.sha256, known.identity.size, role, key)
            self.reused.add(path)
        except PermissionError:  # the release that is replaced belongs to somebody else
            os.unlink(target)
            return False
        finally:
            os.close(fd)
        return True

    def list(self) -> tuple[Entry, ...]:
        """Every file so far, in the order of the names' UTF-8 bytes."""
        return tuple(self.entries[path] for path in sorted(self.entries, key=str.encode))

    def finish(self) -> None:
        """Folders get their mode. The tree is whole."""
        for folder, _, _ in os.walk(self.root):
            os.chmod(folder, FOLDER_MODE)

    def flush(self) -> None:
        """Waits until what this build wrote is on the disk; files taken from the pool are as safe as they were."""
        folders = [Path(folder) for folder, _, _ in os.walk(self.root)]
        for path in [*(self.root / path for path in self.entries if path not in self.reused), *folders]:
            with disk(str(path)):
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)

    # ------------------------------------------------------------------------------------------------------- inside

    def reserve(self, path: str) -> None:
        """Refuses a path that can't travel, or that is there already."""
        fault = verify_release.path_fault(path)
        if fault is None and unicodedata.normalize("NFC", path) != path:
            fault = "is not in Unicode's NFC form, so macOS and Linux would disagree about it"
        with self.lock:
            folded = verify_release.fold(path)
            if fault is None and folded in self.folded:
                other = self.folded[folded]
                fault = "is written twice" if other == path else f"falls together with {other} on macOS and Windows"
            if fault:
                raise CheckFailed(problem("path-invalid", path, f"the name {fault}", "rename it, or leave it out under side_files.omit"))
            self.folded[folded] = path

    def place(self, path: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    @contextlib.contextmanager
    def created(self, path: str) -> Iterator[int]:
        """A new file's descriptor. The file is removed again if the block fails."""
        target = self.place(path)
        fd = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            os.fchmod(fd, FILE_MODE)
            yield fd
        except BaseException:
            os.unlink(target)
            raise
        finally:
            os.close(fd)

    def enter(self, path: str, sha256: str, size: int, role: str | None) -> None:
        with self.lock:
            self.entries[path] = Entry(path, sha256, size, role or role_of(path))

    def add(self, path: str, sha256: str, size: int, role: str | None, key: str) -> None:
        self.enter(path, sha256, size, role)
        self.remember(path, key)

    def need_room(self, size: int) -> None:
        free = shutil.disk_usage(self.root).free
        if size > free:
            message = f"{verify_release.gb(size)} are needed, {verify_release.gb(free)} are free"
            raise OutsideError(problem("disk-fault", str(self.root.parent.parent), message, "free space, or choose another --out"))

    def transfer(self, item: Copy) -> None:
        if self.link and self.hard_link(item):
            return
        with self.noted(item.file), item.file.open() as source, disk(item.path), self.created(item.path) as fd:
            sha256, size = stream_copy(source, fd, item.file.digest.size, self.progress.advance)
            self.check(item, sha256, size)
        self.add(item.path, sha256, size, None, content_key(sha256))

    def hard_link(self, item: Copy) -> bool:
        """With --link: the user's own file under a second name. False where the file system can't."""
        origin = item.file.on_disk()
        if origin is None:
            return False
        target = self.place(item.path)
        try:
            os.link(origin, target)
        except OSError:
            return False
        fd = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            sha256, size = verify_release.hash_fd(os.dup(fd), item.file.digest.size, self.progress.advance)
            self.check(item, sha256, size)
            self.add(item.path, sha256, size, None, LINKED + content_key(sha256))
        except BaseException:
            os.unlink(target)
            raise
        finally:
            os.close(fd)
        return True

    @staticmethod
    def check(item: Copy, sha256: str, size: int) -> None:
        if (sha256, size) != (item.file.digest.sha256, item.file.digest.size):
            raise item.file.changed(sha256, size)


def origin_key(origin: Path, file: SourceFile) -> str:
    return f"origin:{file.digest.sha256}:{origin}"


class Writer:
    """Hashes what it writes. `size` in bytes so far."""

    def __init__(self, fd: int, advance: Callable[[int], None]) -> None:
        self.fd, self.advance, self.size, self.sha256 = fd, advance, 0, hashlib.sha256()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data)
        self.sha256.update(view)
        write_all(self.fd, view)
        self.size += len(view)
        self.advance(len(view))


def write_all(fd: int, view: memoryview) -> None:
    while view:
        view = view[os.write(fd, view) :]


def stream_copy(source: BinaryIO, fd: int, size: int, advance: Callable[[int], None]) -> tuple[str, int]:
    """Copies `source` to `fd`; (SHA-256, bytes) of what was read, at most one byte more than `size`."""
    plain = regular_fd(source)
    if plain is None:
        return pipe_copy(source, fd, size, advance)
    if reflink(plain, fd):
        found: tuple[str, int] = verify_release.hash_fd(os.dup(plain), size, advance)
        return found
    return sparse_copy(plain, fd, size, advance)


def regular_fd(source: BinaryIO) -> int | None:
    try:
        fd = source.fileno()
    except (OSError, AttributeError):
        return None  # a file inside an archive
    return fd if stat.S_ISREG(os.fstat(fd).st_mode) else None


def reflink(source: int, fd: int) -> bool:
    try:
        fcntl.ioctl(fd, FICLONE, source)
    except OSError:
        return False
    return True


def pipe_copy(source: BinaryIO, fd: int, size: int, advance: Callable[[int], None]) -> tuple[str, int]:
    sha256, total = hashlib.sha256(), 0
    while total <= size and (chunk := source.read(min(verify_release.CHUNK_BYTES, size + 1 - total))):
        sha256.update(chunk)
        write_all(fd, memoryview(chunk))
        total += len(chunk)
        advance(len(chunk))
    return sha256.hexdigest(), total


def sparse_copy(source: int, fd: int, size: int, advance: Callable[[int], None]) -> tuple[str, int]:
    """Like pipe_copy for a plain file, holes kept: they are hashed as zeros without being read or written."""
    sha256, total, buffer = hashlib.sha256(), 0, bytearray(verify_release.CHUNK_BYTES)
    view, length = memoryview(buffer), os.fstat(source).st_size
    while total < length and total <= size:
        data, end = next_data(source, total, length)
        for step in chunks(data - total):
            sha256.update(memoryview(ZEROS)[:step])
            advance(step)
        total = data
        os.lseek(source, data, os.SEEK_SET)
        os.lseek(fd, data, os.SEEK_SET)
        while total < end:
            got = os.readv(source, [view[: min(len(view), end - total)]])
            if not got:
                return sha256.hexdigest(), total
            sha256.update(view[:got])
            write_all(fd, view[:got])
            total += got
            advance(got)
    os.ftruncate(fd, total)
    return sha256.hexdigest(), total


def chunks(size: int) -> Iterator[int]:
    for start in range(0, size, len(ZEROS)):
        yield min(len(ZEROS), size - start)


def next_data(fd: int, offset: int, length: int) -> tuple[int, int]:
    """(start, end) of the next stretch that is not a hole; (length, length) where only a hole is left."""
    try:
        start = os.lseek(fd, offset, os.SEEK_DATA)
        return start, min(os.lseek(fd, start, os.SEEK_HOLE), length)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return length, length
        return offset, length  # a file system that knows no holes


@contextlib.contextmanager
def disk(path: str) -> Iterator[None]:
    """Disk errors as OutsideErrors that say what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        mend = (
            "free space; the next run goes on from what is finished" if full else "check the disk and your rights, or choose another --out"
        )
        raise OutsideError(problem("disk-fault", path, f"could not be written: {error.strerror}", mend)) from None
