"""Beside a target folder DIR, a build works in .DIR.hubrelease/ and then takes the target's place in one rename.

Whatever is killed whenever: DIR is the old release, or the new one, or (where the kernel can't exchange two folders)
for a moment absent with both kept beside it, which `recover` finishes. Inside the work folder, each attempt stages in a
folder of its own (tree-1, tree-2, …) and what earlier attempts finished is a pool for the next.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from hubrelease import canonical, verify_release
from hubrelease.digest import sha256
from hubrelease.errors import CheckFailed, OutsideError, Problem, problem
from hubrelease.identities import Identity, Journal, identity_of, read_state
from hubrelease.tree import write_all

AT_FDCWD, RENAME_NOREPLACE, RENAME_EXCHANGE = -100, 1, 2
SMALL_BYTES = 2**20  # files up to this size are read to see whether somebody edited them


class Workspace:
    """The work folder of one target, locked by this process. Use `opened`."""

    def __init__(self, target: Path, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.journal = Journal(folder)

    def new_tree(self) -> Path:
        """An empty staging folder. Earlier ones stay, as a pool."""
        numbers = [int(p.name[5:]) for p in self.folder.glob("tree-*") if p.name[5:].isdigit()]
        path = self.folder / f"tree-{max(numbers, default=0) + 1}"
        path.mkdir()
        return path

    def publish(self, tree: Path) -> None:
        """Puts the finished `tree` in the target's place; the old release can then be removed."""
        whole = tree / verify_release.PROVENANCE  # a converted folder has none, and replaces nothing
        marker = {"tree": tree.name, "provenance": sha256(whole.read_bytes()) if whole.exists() else None}
        write_durably(self.folder / "swap.json", canonical.dumps(marker))
        if not self.target.exists():
            self.rename(tree, self.target)
        elif not exchange(tree, self.target):
            self.rename(self.target, self.folder / "previous")
            self.rename(tree, self.target)

    def rename(self, source: Path, target: Path) -> None:
        try:
            os.rename(source, target)
        except OSError as error:
            mend = "choose a folder that is no mount point, on a disk that you may write to"
            raise OutsideError(problem("disk-fault", str(self.target), f"could not be put in place: {error.strerror}", mend)) from None

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def folder_for(target: Path) -> Path:
    return target.parent / f".{target.name}.hubrelease"


@contextmanager
def opened(target: Path) -> Iterator[Workspace]:
    """The workspace of `target`, locked. Raises OutsideError if another build holds it, or the disk refuses."""
    folder = folder_for(target)
    fd = lock_folder(folder, target)
    try:
        finish_swap(target, folder)
        yield Workspace(target, folder)
    finally:
        os.close(fd)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def lock_folder(folder: Path, target: Path) -> int:
    """Descriptor that holds the lock. A folder removed by the build before us is made anew."""
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            mend = "choose another --out, or give yourself the right to write there"
            raise OutsideError(problem("disk-fault", str(target.parent), f"can't hold the work folder: {error.strerror}", mend)) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise OutsideError(
                problem(
                    "build-running",
                    str(target),
                    "another build of it is running",
                    "wait for it, or choose another --out",
                )
            ) from None
        if os.path.exists(folder) and os.path.samestat(os.stat(folder), os.fstat(fd)):
            return fd
        os.close(fd)


def recover(target: Path) -> None:
    """Finishes a swap that was killed between its two renames; does nothing otherwise."""
    folder = folder_for(target)
    if not target.exists() and (folder / "swap.json").is_file():
        with opened(target):
            pass


def finish_swap(target: Path, folder: Path) -> None:
    """Forward if the new tree is whole, else back, where the target is absent in between; else the old release goes."""
    previous = folder / "previous"
    if target.exists():
        shutil.rmtree(previous, ignore_errors=True)
    if target.exists() or not previous.exists():
        return
    try:
        marker = verify_release.strict_json((folder / "swap.json").read_bytes())
        tree = folder / str(marker["tree"])
        whole = sha256((tree / verify_release.PROVENANCE).read_bytes()) == marker["provenance"]
    except (OSError, ValueError, KeyError, TypeError):
        whole = False
    os.rename(tree if whole else previous, target)


def exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders in one step (renameat2). False where the kernel or the file system can't."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    mend = "choose a folder that is no mount point, on a disk that you may write to"
    raise OutsideError(problem("disk-fault", str(other), f"could not be put in place: {os.strerror(code)}", mend))


def write_durably(file: Path, data: bytes) -> None:
    """Replaces `file` whole: written beside, flushed, renamed."""
    write_together({file: data})


def write_together(files: Mapping[Path, bytes], stale: Iterable[Path] = ()) -> None:
    """Replaces files in their order, each whole, once `stale` is away.

    All are written beside and flushed before the first is touched, so that a full disk changes none of them. OSError then,
    with nothing of ours left.
    """
    beside: dict[Path, Path] = {}
    try:
        for file, data in files.items():
            scratch = scratch_of(file)
            beside[scratch] = file
            write_beside(scratch, data)
        for path in stale:
            path.unlink(missing_ok=True)
        for scratch, file in beside.items():
            os.replace(scratch, file)
    finally:
        for scratch in beside:
            with suppress(OSError):
                scratch.unlink()


SCRATCH = re.compile(r"\..+\.(\d{1,10})\.hubrelease")


def scratch_of(file: Path) -> Path:
    """Where this process writes what is to become `file`."""
    return file.with_name(f".{file.name}.{os.getpid()}.hubrelease")


def clear_leftovers(root: Path) -> None:
    """Takes away what killed runs had half written beside the files of a folder, so that no seal takes it for one of them."""
    for folder, _, names in os.walk(root):
        for name in names:
            found = SCRATCH.fullmatch(name)
            if found and not is_running(int(found[1])):
                with suppress(OSError):  # where nothing may be taken away nothing can be written either, and that is told
                    os.unlink(os.path.join(folder, name))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def write_beside(scratch: Path, data: bytes) -> None:
    scratch.unlink(missing_ok=True)  # whatever lies there, a link to elsewhere included, is not written through
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        os.fchmod(fd, 0o644)
        write_all(fd, memoryview(data))
        os.fsync(fd)
    finally:
        os.close(fd)


# -------------------------------------------------------------------------------------------- may the target be replaced?


def refuse_loss(target: Path, cache: Path) -> None:
    """CheckFailed (HR120) if replacing `target` would lose something that a build did not write."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise CheckFailed(occupied(str(target), "is not a folder"))
    if not any(target.iterdir()):
        return
    folder = verify_release.Folder(target)
    entries, _ = folder.scan()
    provenance = verify_release.load_provenance(folder, entries)
    if provenance.document is None:
        raise CheckFailed(occupied(str(target), "holds files, and is no release that hubrelease built"))
    if problems := list(losses(target, folder, entries, provenance, cache)):
        raise CheckFailed(problems)


def losses(target: Path, folder: verify_release.Folder, entries: dict[str, verify_release.Entry],
           provenance: verify_release.Provenance, cache: Path) -> Iterator[Problem]:  # fmt: skip
    listed = {s.name: s for s in provenance.subjects}
    state = {k.path: k.identity for k in read_state(cache, target)}
    if os.path.lexists(target / ".git"):
        yield occupied(".git", "would be lost: the target is a git clone")
    for path, entry in sorted(entries.items()):
        subject = listed.get(path)
        if subject is None:
            keep = path in (verify_release.PROVENANCE, verify_release.SIGNATURE) or verify_release.LITTER.search(path)
            if not keep and not path.startswith(".cache/huggingface/"):
                yield occupied(path, "is not part of the release that is there, and would be lost")
        elif entry.size != subject.size or (entry.size <= SMALL_BYTES and edited(folder, target / path, path, subject, state)):
            yield occupied(path, "was changed after the build, and the change would be lost")


def edited(
    folder: verify_release.Folder,
    file: Path,
    path: str,
    subject: verify_release.Subject,
    state: dict[Path, Identity],
) -> bool:
    try:
        return state.get(file) != identity_of(file) and sha256(folder.read(path, SMALL_BYTES + 1)) != subject.sha256
    except OSError:
        return True


def occupied(place: str, message: str) -> Problem:
    return problem(
        "target-occupied",
        place,
        message,
        "move it away, seal the folder in place (`hubrelease seal`), or choose another --out",
    )
