"""A git repository: pinned by commit; files are read from git's own objects in a bare clone under our cache.

No work tree is made, so nothing of the repository is run or linked: no hooks, no filters, no symlinks, no submodules.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from hubrelease.digest import FileDigest, sha256
from hubrelease.errors import CheckFailed, OutsideError, problem
from hubrelease.lock import LockedSource, request_of
from hubrelease.outside import Outside, writing
from hubrelease.sources import Kind, select
from hubrelease.spec import Source
from hubrelease.verify_release import lfs_pointer

TIMEOUT_S = 600
OPTIONS = ("protocol.ext.allow=never", "core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false")
FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY",
           "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE")  # fmt: skip


def command(folder: Path | None, arguments: tuple[str, ...]) -> list[str]:
    options = [word for option in OPTIONS for word in ("-c", option)]
    return ["git", *options, *([f"--git-dir={folder}"] if folder else []), *arguments]


def environment() -> dict[str, str]:
    """Ours, without what would name another repository (we may be run by a git hook), and without questions."""
    own = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**own, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


def run(url: str, *arguments: str, folder: Path | None = None) -> bytes:
    """git's standard output; OutsideError with git's own last line otherwise."""
    try:
        done = subprocess.run(command(folder, arguments), capture_output=True, check=False, env=environment(), timeout=TIMEOUT_S)
    except FileNotFoundError:
        raise OutsideError(problem("tool-missing", f"git+{url}", "git is not installed", "install git")) from None
    except subprocess.TimeoutExpired:
        raise unreachable(url, f"git took longer than {TIMEOUT_S} s") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"git exited with {done.returncode}"]
        raise unreachable(url, next((line for line in reversed(lines) if line.startswith("fatal:")), lines[-1]))
    return done.stdout


def unreachable(url: str, message: str) -> OutsideError:
    return OutsideError(problem("source-unreachable", f"git+{url}", message, "check the address, the revision and your access"))


def commit_of(url: str, revision: str) -> str:
    """The commit that a branch, a tag (peeled) or HEAD is now; 40 hex stay what they are."""
    if re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    rows = run(url, "ls-remote", "--", url).decode("utf-8", "replace").splitlines()
    refs = {ref: commit for commit, _, ref in (row.partition("\t") for row in rows)}
    for ref in (f"{revision}^{{}}", revision, f"refs/heads/{revision}", f"refs/tags/{revision}^{{}}", f"refs/tags/{revision}"):
        if re.fullmatch(r"[0-9a-f]{40}", refs.get(ref, "")):
            return refs[ref]
    raise unreachable(url, f'has no branch or tag "{revision}"')


def objects(url: str, commit: str, outside: Outside) -> Path:
    """The bare repository in our cache that holds `commit`, fetched if it is not there yet."""
    folder = folder_for(url, outside)
    if has(folder, commit):
        return folder
    if outside.offline:
        raise OutsideError(problem("offline", f"git+{url}@{commit}", "is needed, is not in the cache, and the network is switched off",
                                   "run once without --offline and HF_HUB_OFFLINE"))  # fmt: skip
    with writing(folder), alone(folder):
        if not has(folder, commit):
            fetch(url, commit, folder)
    if not has(folder, commit):
        raise unreachable(url, f"has no commit {commit}")
    return folder


def folder_for(url: str, outside: Outside) -> Path:
    return outside.cache / "git" / hashlib.sha256(url.encode()).hexdigest()[:32]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the folder for this thread: git itself refuses a second fetch at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def fetch(url: str, commit: str, folder: Path) -> None:
    run(url, "init", "--bare", "--quiet", str(folder))
    (folder / "shallow.lock").unlink(missing_ok=True)  # of a fetch that was killed; we hold the folder
    try:
        run(url, "fetch", "--quiet", "--depth=1", "--no-tags", "--", url, commit, folder=folder)
    except OutsideError:  # a server that gives no single commits
        run(url, "fetch", "--quiet", "--no-tags", "--", url, "+refs/*:refs/upstream/*", folder=folder)


def has(folder: Path, commit: str) -> bool:
    """True if the folder holds the commit and its tree."""
    if not (folder / "HEAD").is_file():
        return False
    kinds = [subprocess.run(command(folder, ("cat-file", "-t", name)), capture_output=True, check=False, env=environment()).stdout
             for name in (commit, commit + "^{tree}")]  # fmt: skip
    return kinds == [b"commit\n", b"tree\n"]


def resolve(source: Source, outside: Outside) -> LockedSource:
    if outside.offline:
        raise OutsideError(problem("offline", f"git+{source.locator}", "can't be resolved with the network switched off",
                                   "run without --offline and HF_HUB_OFFLINE"))  # fmt: skip
    commit = commit_of(source.locator, source.revision or "HEAD")
    folder = objects(source.locator, commit, outside)
    rows = run(source.locator, "ls-tree", "-r", "-z", "--full-tree", commit, folder=folder).split(b"\0")
    modes = {name.decode("utf-8", "surrogateescape"): head.split()[0] for head, _, name in (row.partition(b"\t") for row in rows if row)}
    plain = {path for path, mode in modes.items() if mode.startswith(b"100")}
    wanted, others = select(source, plain)
    links = [path for paths in select(source, modes.keys() - plain) for path in paths]  # and submodules: named, never followed
    prefix = f"{source.path}/" if source.path else ""
    files = tuple(digest(source, folder, commit, prefix, path) for path in wanted)
    return LockedSource(source.name, "git", request_of(source), commit, files, tuple(sorted(others + links)), source.license)


def digest(source: Source, folder: Path, commit: str, prefix: str, path: str) -> FileDigest:
    data = run(source.locator, "cat-file", "blob", f"{commit}:{prefix}{path}", folder=folder)
    if pointer := lfs_pointer(data):
        message = f"is a git-lfs pointer, {pointer[1]} bytes promised; git alone does not hold the file"
        raise CheckFailed(
            problem(
                "weights-unusable",
                f"git+{source.locator}/{path}",
                message,
                "take it from the Hub (hf:), or leave it out under files",
            )
        )
    return FileDigest(path, sha256(data), len(data))


def open_file(locked: LockedSource, path: str, outside: Outside) -> BinaryIO:
    prefix = f"{locked.request['path']}/" if "path" in locked.request else ""
    folder = objects(locked.request["git"], locked.revision, outside)
    child = subprocess.Popen(command(folder, ("cat-file", "blob", f"{locked.revision}:{prefix}{path}")),
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())  # fmt: skip
    return cast(BinaryIO, child.stdout)


def on_disk(locked: LockedSource, path: str, outside: Outside) -> Path | None:
    return None


def uri(locked: LockedSource) -> str:
    """git+https://…; a user name in the address stays out of provenance."""
    return "git+" + re.sub(r"^([a-z]+://)[^/@]*@", r"\1", locked.request["git"])


def cached(locked: LockedSource, path: str, outside: Outside) -> Path:
    return folder_for(locked.request["git"], outside)


KIND = Kind("git", resolve, open_file, on_disk, cached, uri)
