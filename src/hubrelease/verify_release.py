#!/usr/bin/env python3
"""Is every file of this release the one that MODEL_PROVENANCE.json lists? Python 3.11, standard library only.

    python3 runtime/verify_release.py .

A copy of this file travels in each release as runtime/verify_release.py; `hubrelease verify` imports the same file, so
there is one reader of a sealed provenance and one set of rules on paths, layouts and unlisted files (contract.md 2, 3).

What "good" proves: each listed file is here with the listed size and SHA-256, and nothing is here that a loader could
pick up unlisted. What it does not prove: who made the release (`hubrelease verify --key`), that the figures of its card
are true, or that it runs. Exit codes: 0 good, 1 bad, 2 usage, 3 could not decide (partial download, unreadable file).

The folder is hostile. Nothing in it is imported or run, no link is followed but the Hub cache's own, each file is opened
once, without following links, and read no further than the listed size.
"""

import sys  # built in; even __future__ would be looked for beside this file

if __name__ == "__main__":  # before any other import: a json.py planted beside this file must not be run
    sys.dont_write_bytecode = True
    if not getattr(sys.flags, "safe_path", False) and sys.path:
        sys.path[:] = [entry for entry in sys.path[1:] if entry not in ("", sys.path[0])]

import errno
import hashlib
import json
import os
import re
import stat
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

PROVENANCE, SIGNATURE = "MODEL_PROVENANCE.json", "model.sig"
STATEMENT_TYPE, PREDICATE_TYPE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
MAX_PROVENANCE_BYTES = 64 * 2**20  # 100,000 files, the Hub's own recommendation, take about 25 MB
MAX_VALUES = 5_000_000  # of JSON; 64 MiB of the shortest rows hold 3.8 million, while 64 MiB of "[]," would take 1.5 GB of memory
MAX_FAULTS = 1000  # of a listing; after so many it is not read on
MAX_DEPTH = 64  # folders in folders; the Hub's own trees stay under 10
CHUNK_BYTES = 2**20  # swept 64 KiB to 2 MiB on two cores: all within 4 %
MAX_TEXT_BYTES = 16 * 2**20  # larger files are not looked at for line ends

CODES = {
    "provenance-missing": "HR210",
    "provenance-invalid": "HR211",
    "unsafe-path": "HR212",
    "duplicate-subject": "HR213",
    "case-collision": "HR214",
    "file-missing": "HR215",
    "hash-mismatch": "HR216",
    "hash-line-endings": "HR217",
    "symlink": "HR218",
    "special-file": "HR219",
    "lfs-pointer": "HR220",
    "partial-download": "HR221",
    "undeclared-file": "HR222",
    "leftover": "HR223",
    "file-changed": "HR224",
    "unreadable": "HR225",
}


class Finding(NamedTuple):
    code: str
    kind: str
    severity: str
    file: str
    message: str
    mend: str
    pointer: str | None
    undecided: bool


class Subject(NamedTuple):
    name: str
    sha256: str
    size: int
    role: str


class Provenance(NamedTuple):
    """`document` is None where the file could not be read; `subjects` are the well-formed ones."""

    document: dict[str, Any] | None
    subjects: list[Subject]
    findings: list[Finding]


class Entry(NamedTuple):
    """`kind` is file, link, folder or special; `size` the bytes of a file."""

    kind: str
    size: int


class Result(NamedTuple):
    """What check_folder found; `missing` files are not yet in `findings`: see absences."""

    provenance: Provenance
    entries: dict[str, Entry]
    findings: list[Finding]
    missing: list[Subject]
    files_checked: int
    bytes_checked: int


Count = Callable[[int], None]


def finding(
    kind: str, file: str, message: str, mend: str, severity: str = "error", pointer: str | None = None, undecided: bool = False
) -> Finding:
    return Finding(CODES[kind], kind, severity, file, message, mend, pointer, undecided)


# ------------------------------------------------------------------------------------------------ names and digests


BIDI_CONTROLS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")  # they show gpj.py as yp.jpg
CI_COMMAND = re.compile(r"^( *):|#(?=#\w*\[)")  # GitHub's start a line, after blanks; ##[ and ##vso[ stand anywhere


def path_fault(name: str) -> str | None:
    """Why `name` can't be a path inside a release, or None. Paths are relative, POSIX, and printable."""
    if not name or len(name.encode("utf-8", "surrogatepass")) > 1024:
        return "is empty or longer than 1,024 bytes"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "is absolute"
    if "\\" in name:
        return "holds a backslash"
    if not (name.isascii() and name.isprintable()) and any(map(is_control, name)):
        return "holds a control character or is not UTF-8"
    parts = name.split("/")
    if ".." in parts:
        return "leaves the folder with '..'"
    if "" in parts or "." in parts:
        return "has an empty or '.' segment"
    return f"is deeper than {MAX_DEPTH} folders" if len(parts) > MAX_DEPTH else None


def is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(character) in BIDI_CONTROLS


def fold(name: str) -> str:
    """The form under which macOS and Windows take two names for one. Windows drops dots and blanks at the end of each step."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return re.sub(r"(?<=[^/. ])[. ]+(?=/|$)", "", folded)


def in_payload(name: str) -> bool:
    """True for the files that a server reads (contract.md 3, payloadDigest)."""
    outside = ("benchmarks/", ".eval_results/", "docs/", "examples/", "assets/")
    root_texts = "/" not in name and name.startswith(("LICENSE", "NOTICE"))
    return name != "README.md" and not root_texts and not name.startswith(outside)


def digest_of(subjects: Iterable[Subject]) -> str:
    """SHA-256 over `<sha256>  <sizeBytes>  <name>` lines in the order of the names' UTF-8 bytes, as 64 hex digits."""
    rows = sorted(subjects, key=lambda s: s.name.encode())
    return hashlib.sha256("".join(f"{s.sha256}  {s.size}  {s.name}\n" for s in rows).encode()).hexdigest()


def release_digest(subjects: Iterable[Subject]) -> str:
    return digest_of(subjects)


def payload_digest(subjects: Iterable[Subject]) -> str:
    return digest_of([s for s in subjects if in_payload(s.name)])


def escape(text: str) -> str:
    """`text` for a terminal or a CI log: one line, no control, bidi or invisible character, no CI command."""
    out = "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in printable(text))
    return CI_COMMAND.sub(lambda m: f"{m[1] or ''}\\u{{{ord(m[0][-1]):x}}}", out)


def printable(text: str) -> str:
    """`text` as valid Unicode: bytes of a file name that are not UTF-8, and lone surrogates, as \\xff escapes."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")


# ------------------------------------------------------------------------------------------------- the provenance


def strict_json(data: bytes) -> Any:
    """`data` (bytes) as JSON; ValueError with a sentence for what a strict reader refuses, duplicate keys included."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, item in pairs:
            if key in value:
                raise ValueError(f"the key {short(key)} stands twice in one object")
            value[key] = item
        return value

    def refuse(token: str) -> float:
        raise ValueError(f"{token} is not JSON")

    def finite(token: str) -> float:
        value = float(token)
        return value if abs(value) < float("inf") else refuse(token[:40])

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse, parse_float=finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_provenance(data: bytes) -> Provenance:
    """Provenance of the bytes of MODEL_PROVENANCE.json; every fault is a finding, none an exception.

    Only what contract.md section 2 requires of readers is required; unknown keys are ignored.
    """
    mend = "fetch it again, or build the release again"
    try:
        if sum(data.count(mark) for mark in (b"{", b"[", b",")) > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES} values; it was not read")
        document = strict_json(data)
    except ValueError as error:
        return Provenance(None, [], [finding("provenance-invalid", PROVENANCE, f"is not usable JSON: {error}", mend)])
    faults = list(header_faults(document))
    rows = document.get("subject") if isinstance(document, dict) else None
    subjects, faults = read_subjects(rows, faults) if isinstance(rows, list) else ([], faults)
    return Provenance(document if isinstance(document, dict) else None, subjects, faults)


def header_faults(document: Any) -> Iterator[Finding]:
    def fault(pointer: str, message: str) -> Finding:
        mend = "build the release again with `hubrelease build` or `hubrelease seal`"
        return finding("provenance-invalid", PROVENANCE, message, mend, pointer=pointer)

    if not isinstance(document, dict):
        yield fault("", "is not a JSON object")
        return
    for key, want in (("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)):
        if document.get(key) != want:
            yield fault(f"/{key}", f"is {short(document.get(key))}, not {want}")
    if not isinstance(document.get("subject"), list) or not document["subject"]:
        yield fault("/subject", "is not a list of files")
    if release_name(document) is None:
        yield fault("/predicate/buildDefinition/externalParameters/spec/name", "the release names no repository")


def spec_of(document: Any) -> dict[str, Any]:
    """The spec that a provenance embeds; empty where it says nothing of that form."""
    for step in ("predicate", "buildDefinition", "externalParameters", "spec"):
        document = document.get(step) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def release_name(document: Any) -> str | None:
    name = spec_of(document).get("name")
    return name if isinstance(name, str) and name else None


def read_subjects(rows: list[Any], faults: list[Finding]) -> tuple[list[Subject], list[Finding]]:
    subjects: list[Subject] = []
    seen: set[str] = set()
    for index, row in enumerate(rows):
        subject, problems = read_subject(row, f"/subject/{index}")
        if subject and subject.name in seen:
            mend = "build the release again"
            problems = [finding("duplicate-subject", subject.name, "is listed twice", mend, pointer=f"/subject/{index}")]
            subject = None
        if subject:
            seen.add(subject.name)
            subjects.append(subject)
        faults += problems
        if len(faults) >= MAX_FAULTS:
            message = f"has {MAX_FAULTS} faults up to here; the rest was not read"
            return subjects, [
                *faults,
                finding("provenance-invalid", PROVENANCE, message, "build the release again", pointer=f"/subject/{index}"),
            ]
    return subjects, faults


def read_subject(row: Any, pointer: str) -> tuple[Subject | None, list[Finding]]:
    row = row if isinstance(row, dict) else {}
    name, digest, notes = (row.get(key) for key in ("name", "digest", "annotations"))
    sha256 = digest.get("sha256") if isinstance(digest, dict) else None
    size = notes.get("sizeBytes") if isinstance(notes, dict) else None
    role = notes.get("role") if isinstance(notes, dict) else None
    mend = "build the release again"

    def bad(where: str, message: str) -> tuple[None, list[Finding]]:
        return None, [finding("provenance-invalid", PROVENANCE, message, mend, pointer=pointer + where)]

    if not isinstance(name, str):
        return bad("/name", f"is {short(name)}, not a file name")
    if fault := path_fault(name) or listing_fault(name):
        message = f"the listed name {short(name)} {fault}"
        return None, [finding("unsafe-path", PROVENANCE, message, mend, pointer=f"{pointer}/name")]
    if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-f]{64}", sha256):
        return bad("/digest/sha256", f"is {short(sha256)}, not 64 lower-case hex digits")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**63:
        return bad("/annotations/sizeBytes", f"is {short(size)}, not a size in bytes")
    return Subject(name, sha256, size, role if isinstance(role, str) else "other"), []


def listing_fault(name: str) -> str | None:
    if name in (PROVENANCE, SIGNATURE):
        return "is the listing or the signature itself"
    if ".git" in fold(name).split("/"):
        return "lies in git's own folder, whose hooks git runs"
    return None


def short(value: object) -> str:
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) < 80 else text[:76] + "..."


# ------------------------------------------------------------------------------------------------------ the folder

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not wait for a writer
HAS_DIR_FD = os.open in os.supports_dir_fd and os.scandir in os.supports_fd


class Folder:
    """A folder of files, read without following links. `root` is the path as given, resolved once."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        try:
            self.root = os.path.realpath(root)
        except OSError:
            self.root = os.fspath(root)  # the current folder was removed; check_folder says so
        self.cache = hub_cache_of(self.root)

    def scan(self) -> tuple[dict[str, Entry], list[Finding]]:
        """({path: Entry}, [Finding]): every file below the root but .git, links and special files as such.

        The Hub cache's own links count as the files that they lead to.
        """
        entries: dict[str, Entry] = {}
        findings: list[Finding] = []
        todo = [""]
        while todo:
            folder = todo.pop()
            try:
                found = self.list_folder(folder)
            except OSError as error:
                findings.append(open_fault(folder or ".", error))
                continue
            for name, entry in found:
                path = f"{folder}/{name}" if folder else name
                if path == ".git":
                    continue
                if entry.kind != "folder":
                    entries[path] = self.blob_entry(path) if entry.kind == "link" and self.cache else entry
                elif path.count("/") < MAX_DEPTH:
                    todo.append(path)
                else:
                    message = f"is deeper than {MAX_DEPTH} folders; what lies below was not read"
                    findings.append(finding("unsafe-path", path, message, "remove the folder"))
        return entries, findings

    def list_folder(self, folder: str) -> list[tuple[str, Entry]]:
        if not HAS_DIR_FD:
            with os.scandir(os.path.join(self.root, *folder.split("/"))) as found:
                return [(item.name, self.entry_of(item)) for item in found]
        fd = self.open_path(folder.split("/") if folder else [], os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            with os.scandir(fd) as found:
                return [(item.name, self.entry_of(item)) for item in found]
        finally:
            os.close(fd)

    @staticmethod
    def entry_of(item: os.DirEntry[str]) -> Entry:
        if item.is_symlink():
            return Entry("link", 0)
        if item.is_dir(follow_symlinks=False):
            return Entry("folder", 0)
        info = item.stat(follow_symlinks=False)
        return Entry("file", info.st_size) if stat.S_ISREG(info.st_mode) else Entry("special", 0)

    def open_path(self, parts: Sequence[str], flags: int, base: str | None = None) -> int:
        """File descriptor of root/parts, no component of which is a link. OSError as os.open raises it."""
        base = base or self.root
        if not HAS_DIR_FD:
            path = os.path.join(base, *parts)
            if os.path.realpath(path) != path:
                raise OSError(errno.ELOOP, "is a link")
            return os.open(path, flags | NOFOLLOW | NONBLOCK)
        fd = os.open(base, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            for number, part in enumerate(parts):
                last = number == len(parts) - 1
                step = os.open(part, (flags if last else os.O_RDONLY | os.O_DIRECTORY) | NOFOLLOW | NONBLOCK, dir_fd=fd)
                os.close(fd)
                fd = step
            return fd
        except BaseException:
            os.close(fd)
            raise

    def open_file(self, path: str) -> tuple[int, os.stat_result]:
        """File descriptor and os.stat_result of a regular file of the release; OSError otherwise.

        In a Hub cache snapshot the cache's own links are followed: see hub_blob.
        """
        base: str = self.root
        parts = path.split("/")
        if self.cache:
            base, parts = self.hub_blob(path) or (base, parts)
        try:
            fd = self.open_path(parts, os.O_RDONLY, base)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None  # the whole path, not the last step of it
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "not a regular file", path)
        return fd, info

    def hub_blob(self, path: str) -> tuple[str, list[str]] | None:
        """(cache folder, parts below it) where `path` is one of the Hub cache's own links, else None.

        Each hop, two at most (with Xet the client links twice), ends in models--*/blobs/<name> or
        blobs/<2 hex>/<64 hex> of the same cache; anything else is no blob.
        """
        if self.cache is None:
            return None
        where = link = os.path.join(self.root, *path.split("/"))
        below = ""
        for _ in range(2):
            try:
                target = os.readlink(where)
            except OSError:
                break
            where = os.path.normpath(os.path.join(os.path.dirname(where), target))
            below = os.path.relpath(where, self.cache).replace(os.sep, "/")
            if not re.fullmatch(r"models--[^/]+/blobs/[^/]+|blobs/[0-9a-f]{2}/[0-9a-f]{64}", below):
                return None
        blob = os.path.join(self.cache, *below.split("/"))
        # the kernel must come to the same file: `..` after a folder that is itself a link leads it elsewhere
        return (self.cache, below.split("/")) if below and os.path.realpath(link) == blob else None

    def blob_entry(self, path: str) -> Entry:
        """The Entry of a link: a file where it is the Hub cache's own and leads to one."""
        cache, parts = self.hub_blob(path) or ("", [])
        try:
            info = os.lstat(os.path.join(cache, *parts)) if cache else None
        except OSError:
            info = None  # it leads nowhere
        return Entry("file", info.st_size) if info and stat.S_ISREG(info.st_mode) else Entry("link", 0)

    def read(self, path: str, limit: int) -> bytes:
        """The bytes of a file of the release, at most `limit` of them; OSError, with its path, if it can't be read."""
        fd, _ = self.open_file(path)
        with os.fdopen(fd, "rb") as stream:
            try:
                return stream.read(limit)
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from None


def hub_cache_of(root: str) -> str | None:
    """The Hub cache that `root` is a snapshot of (<cache>/models--*/snapshots/<40 hex>), or None."""
    parts = root.replace(os.sep, "/").split("/")
    if len(parts) < 4 or parts[-2] != "snapshots" or not parts[-3].startswith("models--"):
        return None
    return os.sep.join(root.split(os.sep)[:-3]) if re.fullmatch(r"[0-9a-f]{40}", parts[-1]) else None


def unreadable(path: str, error: OSError) -> Finding:
    message = f"could not be read: {error.strerror or error}"
    return finding("unreadable", path, message, "give yourself read access, then run again", undecided=True)


# ------------------------------------------------------------------------------------------------- hashing the files


def hash_fd(fd: int, size: int, count: Count = lambda n: None) -> tuple[str, int]:
    """SHA-256 (64 hex digits) of the first `size` bytes of `fd` and the number of bytes really there, up to size + 1."""
    digest, buffer, total = hashlib.sha256(), bytearray(min(CHUNK_BYTES, size + 1)), 0
    view = memoryview(buffer)
    with os.fdopen(fd, "rb", buffering=0) as stream:
        while total <= size:
            got = stream.readinto(view[: size + 1 - total])
            if not got:
                break
            digest.update(view[:got])
            total += got
            count(got)
    return digest.hexdigest(), total


def in_threads(work: Callable[[Any], Any], items: Sequence[Any], threads: int | None = None) -> list[Any]:
    """[work(item)] in order of items, on a thread a core: hashlib and read() release the interpreter lock."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    results: list[Any] = [None] * len(items)
    errors: list[BaseException] = []
    queue, lock = iter(range(len(items))), threading.Lock()

    def run() -> None:
        while True:
            with lock:
                index = next(queue, None)
            if index is None or errors:
                return
            try:
                results[index] = work(items[index])
            except BaseException as error:  # a bug or Ctrl-C: raised again below, in the caller's thread
                errors.append(error)

    pool = [threading.Thread(target=run, daemon=True) for _ in range(min(threads or cores, len(items)))]
    for thread in pool:
        thread.start()
    for thread in pool:
        while thread.is_alive():
            thread.join(0.1)
    if errors:
        raise errors[0]
    return results


def check_subject(folder: Folder, subject: Subject, sizes_only: bool = False, count: Count = lambda n: None) -> list[Finding]:
    """Findings on one listed file, which is opened once: links, size, SHA-256."""
    try:
        fd, info = folder.open_file(subject.name)
    except OSError as error:
        return [open_fault(subject.name, error)]
    try:
        if info.st_size != subject.size or sizes_only:
            return size_findings(folder, subject, info.st_size)
        sha256, total = hash_fd(os.dup(fd), info.st_size, count)
        after = os.fstat(fd)
    except OSError as error:
        return [unreadable(subject.name, error)]  # a disk or a network share that fails while it is read
    finally:
        os.close(fd)
    if total != info.st_size or (after.st_size, after.st_mtime_ns) != (info.st_size, info.st_mtime_ns):
        return [
            finding(
                "file-changed",
                subject.name,
                "changed while it was read",
                "run again when nothing writes",
                undecided=True,
            )
        ]
    if sha256 != subject.sha256:
        message = f"has SHA-256 {sha256}, {PROVENANCE} lists {subject.sha256}"
        return explain_mismatch(folder, subject, message)
    return pointer_itself(folder, subject) if 100 < info.st_size < 1024 else []


def open_fault(name: str, error: OSError) -> Finding:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return finding("symlink", name, "is a link, or lies behind one", "put the file itself in its place")
    if error.errno in (errno.EINVAL, errno.ENXIO, errno.EISDIR):
        return finding("special-file", name, "is not a regular file", "put the file itself in its place")
    return unreadable(name, error)


def size_findings(folder: Folder, subject: Subject, size: int) -> list[Finding]:
    if size == subject.size:
        return []
    return explain_mismatch(folder, subject, f"has {size} bytes, {PROVENANCE} lists {subject.size}")


def explain_mismatch(folder: Folder, subject: Subject, message: str) -> list[Finding]:
    """The one finding that says most about a file that is not the listed one."""
    try:
        data = folder.read(subject.name, MAX_TEXT_BYTES + 1)
    except OSError:
        data = b""  # what was found stands
    pointer = lfs_pointer(data)
    if pointer == (subject.sha256, subject.size):
        message = f"is a git-lfs pointer, {subject.size} bytes promised; the file itself was not fetched"
        return [finding("lfs-pointer", subject.name, message, "run git lfs pull", undecided=True)]
    if len(data) <= MAX_TEXT_BYTES and b"\0" not in data:
        unix = data.replace(b"\r\n", b"\n")
        texts = [text for text in (unix, unix.replace(b"\n", b"\r\n")) if text != data]
        if subject.sha256 in (hashlib.sha256(text).hexdigest() for text in texts):
            mend = "check it out without line-end conversion (git config core.autocrlf false)"
            return [finding("hash-line-endings", subject.name, f"{message}: only line ends differ", mend)]
    return [finding("hash-mismatch", subject.name, message, "fetch the file again, or build or seal the release again")]


def pointer_itself(folder: Folder, subject: Subject) -> list[Finding]:
    try:
        pointer = lfs_pointer(folder.read(subject.name, 1024))
    except OSError as error:
        return [unreadable(subject.name, error)]
    if not pointer:
        return []
    message = f"is a git-lfs pointer, {pointer[1]} bytes promised, and {PROVENANCE} lists the pointer itself"
    return [finding("lfs-pointer", subject.name, message, "run git lfs pull before building the release")]


def lfs_pointer(data: bytes) -> tuple[str, int] | None:
    """(sha256, size) of a git-lfs pointer file's bytes, or None. A pointer is the whole file, of less than 1,024 bytes."""
    form = rb"version https://git-lfs\.github\.com/spec/v1\n(?:[a-z.0-9-]+ .*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d{1,18})\n?"
    match = re.fullmatch(form, data) if len(data) < 1024 else None
    return (match[1].decode(), int(match[2])) if match else None


# ------------------------------------------------------------------------------------------- files that are not listed

# No `.*` before a suffix: a name of 1,000 bytes made for it would take a second.
CODE = re.compile(
    r"\.(py[cdiowx]?|pyzw?|ipynb|so(\.\d+)*|dll|dylib|exe|sh|bash|zsh|fish|ps1|psm1|vbs|bat|cmd|com|[mc]?[jt]s|node|pl|rb|php|lua|jar|class"
    r"|wasm|c|cc|cpp|cxx|h|hpp|cuh?|ptx|cubin|hip|metal|pth|whl|egg|dockerfile"
    r"|pt2?|pkl|pickle|joblib|ckpt|dill|np[yz]|keras|nemo)$"
    r"|(^|/)Dockerfile|(^|/)(Makefile|CMakeLists\.txt|setup\.cfg|pyproject\.toml|requirements.*\.(txt|lock))$|compose\.ya?ml$",
    re.I | re.S,
)
LOADED = re.compile(
    r"(^|/)(tokenizer|vocab|chat_template|additional_chat_templates/)|^(?=.*config).*\.json$|(^|/)([a-z]+_)?config\.ya?ml$"
    r"|(^|/)(model_index|params|tekken|added_tokens|special_tokens_map|modules)\.json$|(^|/)(merges\.txt|hyperparams\.ya?ml)$"
    r"|\.(index\.json|jinja2?|j2|safetensors|gguf|bin|model|spm|tiktoken|onnx|onnx_data|h5|msgpack|mlmodel|tflite|pb|params)$",
    re.I | re.S,
)
LITTER = re.compile(
    r"(^|/)(\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*)$|(~|\.sw[op]|\.(incomplete|part|tmp|crdownload|orig|rej))$",
    re.I,
)
SHADOW, APPLE_DOUBLE = re.compile(r"(^|/)\._[^/]+$"), b"\0\5\x16\7"  # what macOS puts beside each file on a foreign disk
LOCAL_DIR = re.compile(
    r"\.cache/huggingface/(\.gitignore|\.gitignore\.lock|CACHEDIR\.TAG|(download|upload)/.*\.(metadata|lock)|trees/[0-9a-f]{40}\.json)"
)
DOWNLOADING = re.compile(r"\.cache/huggingface/download/.*\.incomplete")
PROGRAM = re.compile(
    rb"#!|\x7fELF|MZ|[\xce\xcf]\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf]|\xca\xfe\xba\xbe|\0asm"  # scripts, executables, Java, WebAssembly
    rb"|\x80[\x02-\x05]|\([dl]p0\n|[\]}]q\0|PK\x03\x04|\x89HDF\r\n\x1a\n|\x93NUMPY"  # pickles, and what may hold one: zip, HDF5, NumPy
)
HEAD_BYTES = 4096
WORD = re.compile(rb"[\w.\-\x80-\xff]+")


def unlisted_findings(folder: Folder, entries: dict[str, Entry], subjects: list[Subject]) -> Iterator[Finding]:
    """A finding for each file that the provenance does not list: an error where a loader could pick it up."""
    listed = {s.name for s in subjects} | {PROVENANCE, SIGNATURE, ".gitattributes"}
    reasons: dict[str, str | None] = {}
    for path, entry in sorted(entries.items()):
        if path not in listed and entry.kind == "file" and not LOCAL_DIR.fullmatch(path):
            try:
                reasons[path] = loader_reason(folder, path)
            except OSError as error:
                yield open_fault(path, error)
    harmless = {path: base_name(path) for path, why in reasons.items() if why is None and not LITTER.search(path)}
    reached = reached_names(folder, entries, listed, set(harmless.values())) if harmless else set()
    for path, why in reasons.items():
        yield unlisted_finding(path, "a config of the release names it" if harmless.get(path) in reached else why)


def base_name(path: str) -> bytes:
    return path.rsplit("/", 1)[-1].encode("utf-8", "surrogateescape")


def litter(path: str) -> bool:
    return LITTER.search(path) is not None and not LOCAL_DIR.fullmatch(path)


def unlisted_finding(path: str, why: str | None) -> Finding:
    if why:
        message = f"is not listed in {PROVENANCE}, and {why}"
        return finding("undeclared-file", path, message, "remove it, or build the release again with it")
    if LITTER.search(path):
        return finding("leftover", path, "is left over from a download or an editor", "remove it", severity="warning")
    return finding(
        "undeclared-file",
        path,
        f"is not listed in {PROVENANCE}",
        "remove it, or seal the release again",
        severity="warning",
    )


def loader_reason(folder: Folder, path: str) -> str | None:
    """Why a loader could pick up the file `path`, by its name or its first bytes, or None. OSError if it can't be read."""
    if DOWNLOADING.fullmatch(path):
        return None  # half of a file, in the Hub client's own folder
    shadow = SHADOW.search(path)
    if not shadow and (why := name_reason(path)):
        return why
    head = folder.read(path, HEAD_BYTES)
    if shadow:
        return None if head.startswith(APPLE_DOUBLE) else name_reason(path)
    return "its bytes are those of a program or a pickle" if PROGRAM.match(head) or imports_by_pickle(head) else None


def name_reason(path: str) -> str | None:
    if CODE.search(path):
        return "it can be run"
    backup = LITTER.search(path) and not SHADOW.search(path)  # nobody loads tokenizer.json~
    return "loaders read files of that name" if LOADED.search(path) and not backup else None


def imports_by_pickle(head: bytes) -> bool:
    """True for a pickle of the older, magicless protocols that names something to import; `head` may be cut at HEAD_BYTES."""
    import pickletools

    imports = False
    try:
        for code, _, _ in pickletools.genops(head):
            imports = imports or code.name in ("GLOBAL", "INST", "STACK_GLOBAL")
        return imports
    except ValueError as error:  # no pickle, unless it was only cut
        return imports and len(head) == HEAD_BYTES and "unknown" not in str(error)


def reached_names(folder: Folder, entries: dict[str, Entry], listed: set[str], names: set[bytes]) -> set[bytes]:
    """Those of `names` that stand in one of the release's own JSON and YAML files of up to 1 MiB."""
    found: set[bytes] = set()
    for path, entry in entries.items():
        if path in listed and path.endswith((".json", ".yaml", ".yml")) and path != PROVENANCE and entry.size <= 2**20:
            try:
                found |= names_in(folder.read(path, 2**20), names - found)
            except OSError:
                continue  # reported where the file itself is checked
    return found


def names_in(text: bytes, names: set[bytes]) -> set[bytes]:
    """Those of `names` that stand in `text`. By sets of words, for 20,000 names times 1 MiB take minutes."""
    text = re.sub(rb"(?:\\u[0-9a-fA-F]{4})+", lambda m: json.loads(b'"%b"' % m[0]).encode("utf-8", "surrogatepass"), text)
    words = set(WORD.findall(text))
    words |= {word.strip(b".-") for word in words}
    return {name for name in names if name in words or (not WORD.fullmatch(name) and words.issuperset(WORD.findall(name)) and name in text)}


# ------------------------------------------------------------------------------------------------------ the verdict


def check_folder(
    root: str | os.PathLike[str], sizes_only: bool = False, count: Count = lambda n: None, threads: int | None = None
) -> Result:
    """Result of holding the folder `root` against its MODEL_PROVENANCE.json.

    `count(n)` is called, from several threads, for each n bytes hashed. Absent files are in `missing`, not yet in
    `findings`: see absences.
    """
    try:
        os.close(os.open(os.path.realpath(root), os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)))
    except OSError as error:
        return unopened(os.fspath(root), error)
    folder = Folder(root)
    entries, findings = folder.scan()
    closed = {f.file for f in findings}  # folders of which nothing is known
    provenance = load_provenance(folder, entries) if "." not in closed else Provenance(None, [], [])
    findings += provenance.findings
    findings += entry_findings(folder, entries, {s.name for s in provenance.subjects})
    findings += collisions(set(entries) | {s.name for s in provenance.subjects})
    present = [s for s in provenance.subjects if s.name in entries and entries[s.name].kind == "file"]
    missing = [s for s in provenance.subjects if s.name not in entries and closed.isdisjoint(folders_of(s.name))]
    largest_first = sorted(present, key=lambda s: -s.size)
    for found in in_threads(lambda s: check_subject(folder, s, sizes_only, count), largest_first, threads):
        findings += found
    if provenance.document is not None:
        findings += unlisted_findings(folder, entries, provenance.subjects)
    else:  # nothing says what should be here, but litter is litter
        findings += [unlisted_finding(path, None) for path, entry in entries.items() if entry.kind == "file" and litter(path)]
    if missing:  # contract.md 2: absences and the halves of what is absent are one finding
        findings = [f for f in findings if f.kind != "leftover" or not f.file.endswith(".incomplete")]
    return Result(provenance, entries, findings, missing, len(present), sum(s.size for s in present))


def unopened(root: str, error: OSError) -> Result:
    message = f"could not be opened: {error.strerror}"
    found = finding("unreadable", root, message, "name the folder of a release that you may read", undecided=True)
    return Result(Provenance(None, [], []), {}, [found], [], 0, 0)


def folders_of(path: str) -> list[str]:
    """Every folder that `path` lies in; the root is "."."""
    parts = path.split("/")
    return [".", *("/".join(parts[:depth]) for depth in range(1, len(parts)))]


def load_provenance(folder: Folder, entries: dict[str, Entry]) -> Provenance:
    if PROVENANCE not in entries:
        message = "is not here: nothing says what the files should be"
        mend = "fetch it again, or make the folder a release with `hubrelease seal`"
        return Provenance(None, [], [finding("provenance-missing", PROVENANCE, message, mend)])
    if entries[PROVENANCE].kind != "file":
        return Provenance(None, [], [])  # entry_findings tells what it is
    try:
        data = folder.read(PROVENANCE, MAX_PROVENANCE_BYTES + 1)
    except OSError as error:
        return Provenance(None, [], [open_fault(PROVENANCE, error)])
    if pointer := lfs_pointer(data):
        message = f"is a git-lfs pointer, {pointer[1]} bytes promised; the file itself was not fetched"
        return Provenance(None, [], [finding("lfs-pointer", PROVENANCE, message, "run git lfs pull", undecided=True)])
    if len(data) > MAX_PROVENANCE_BYTES:
        message = f"is larger than {MAX_PROVENANCE_BYTES} bytes and was not read"
        return Provenance(None, [], [finding("provenance-invalid", PROVENANCE, message, "split the release")])
    return parse_provenance(data)


def entry_findings(folder: Folder, entries: dict[str, Entry], listed: set[str]) -> Iterator[Finding]:
    """Findings on what a folder of plain files does not hold: links, FIFOs, sockets, devices, names that can't travel."""
    for path, entry in entries.items():
        if entry.kind == "special":
            yield finding("special-file", path, "is a FIFO, a socket or a device", "remove it")
        elif entry.kind == "link":
            yield finding("symlink", path, "is a link; its target is not part of the release", "put the file itself in its place")
        elif path not in listed and (fault := path_fault(path)):
            yield finding("unsafe-path", path, f"the file's name {fault}", "rename or remove it")


def collisions(names: Iterable[str]) -> Iterator[Finding]:
    """Names that fall together on a file system that ignores case or Unicode form, folders' names included.

    Names that do stand side by side when sorted, so that each is compared with one other and a listing of a million
    deep paths takes no more memory than itself.
    """
    groups: dict[str, set[str]] = {}
    before: list[str] = []
    for name in sorted(names, key=lambda name: (fold(name).replace("/", "\0"), name)):
        parts = name.split("/")
        alike = list(takewhile(lambda pair: pair[0] == pair[1] or fold(pair[0]) == fold(pair[1]), zip(before, parts, strict=False)))
        first = next((depth for depth, (one, other) in enumerate(alike, 1) if one != other), None)
        for depth in {first, len(alike)} if first else ():
            path = "/".join(parts[:depth])
            groups.setdefault(fold(path), set()).update((path, "/".join(before[:depth])))
        before = parts
    for group in groups.values():
        first_few = sorted(group)[:4]
        for name in sorted(group):
            others = ", ".join([other for other in first_few if other != name][:3]) + (", ..." if len(group) > 4 else "")
            yield finding("case-collision", name, f"falls together with {others} on macOS and Windows", "rename one of them")


def absences(result: Result, other_errors: bool) -> list[Finding]:
    """Findings on the absent files: one `partial-download` if nothing else is wrong, else each `file-missing`."""
    if not result.missing:
        return []
    whole = result.provenance.subjects
    here = [s.size for s in whole if s.name in result.entries]
    counts = f"partial: {len(here)} of {len(whole)} files, {gb(sum(here))} of {gb(sum(s.size for s in whole))} here"
    mend = "fetch the rest (run the download again)"
    if not other_errors:
        names = ", ".join(s.name for s in result.missing[:5]) + (", ..." if len(result.missing) > 5 else "")
        return [finding("partial-download", result.missing[0].name, f"{counts}; absent: {names}", mend, undecided=True)]
    return [finding("file-missing", s.name, f"is listed but absent ({counts})", mend) for s in result.missing]


def gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"


def exit_code(findings: Iterable[Finding]) -> int:
    """1 where an error was found, 3 where only undecided things were, else 0 (contract.md 1)."""
    errors = [f for f in findings if f.severity == "error"]
    return 1 if any(not f.undecided for f in errors) else 3 if errors else 0


PROVED = "Proved: every listed file is here, byte for byte, and nothing that a loader could pick up is unlisted."
SIZES = "Proved: every listed file is here in its listed size. The bytes were NOT hashed (--sizes-only)."
NOT_PROVED = "Not proved: who made this release (hubrelease verify --key), the card's figures, that it runs."


def main(arguments: list[str] | None = None) -> int:
    import argparse

    parser = argparse.ArgumentParser(
        prog="verify_release.py", description="Check a release folder against its MODEL_PROVENANCE.json.",
        epilog="example: python3 runtime/verify_release.py .   exit codes: 0 good, 1 bad, 2 usage, 3 could not decide",
    )  # fmt: skip
    parser.add_argument("folder", nargs="?", default=".", help="the release (default: the current folder)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="print findings only")
    parser.add_argument("--sizes-only", action="store_true", help="compare names and sizes, hash nothing")
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 must not end in a traceback
    started = time.monotonic()
    result = check_folder(options.folder, options.sizes_only)
    found = result.findings + absences(result, any(f.severity == "error" for f in result.findings))
    found.sort(key=lambda f: (printable(f.file), f.code, f.pointer or ""))
    code = exit_code(found)
    try:
        if options.json:
            print(json.dumps(as_json(result, found, code), indent=2, sort_keys=True))
        else:
            print_text(result, found, code, options, time.monotonic() - started)
        print(end="", flush=True)
    except OSError as error:  # the reader has gone, or the disk is full: the exit code still says it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code if isinstance(error, BrokenPipeError) else code or 3
    return code


def as_json(result: Result, found: list[Finding], code: int) -> dict[str, Any]:
    subjects = result.provenance.subjects
    name = release_name(result.provenance.document)
    return {
        "schemaVersion": 1, "command": "verify_release", "verdict": {0: "good", 1: "bad"}.get(code, "undecided"), "exitCode": code,
        "release": {"name": name and printable(name), "releaseDigest": release_digest(subjects), "payloadDigest": payload_digest(subjects)},
        "findings": [{"code": f.code, "kind": f.kind, "severity": f.severity, "file": printable(f.file), "pointer": f.pointer, "line": None,
                      "tensor": None, "message": printable(f.message), "mend": f.mend} for f in found],
        "checked": {"files": result.files_checked, "bytes": result.bytes_checked},
    }  # fmt: skip


def print_text(result: Result, found: list[Finding], code: int, options: Any, seconds: float) -> None:
    for f in found:
        place = escape(f.file) + (f" {f.pointer}" if f.pointer else "")
        print(f"{place}: {f.code} {f.kind} ({f.severity}): {escape(f.message)}\n  mend: {f.mend}")
    if options.quiet:
        return
    rate = f" in {seconds:.1f} s" if seconds >= 1 else ""
    print(f"{ {0: 'good', 1: 'BAD'}.get(code, 'UNDECIDED') }: {result.files_checked} files, {gb(result.bytes_checked)} checked{rate}")
    if code == 0:
        print(f"release digest {release_digest(result.provenance.subjects)}")
        print(f"{SIZES if options.sizes_only else PROVED}\n{NOT_PROVED}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
