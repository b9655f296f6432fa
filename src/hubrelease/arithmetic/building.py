"""native.c as a shared library: built on this machine at first use, kept in the cache, never trusted blindly.

The library lies in a folder that only its owner may write to, under a name made of two digests: of everything that it
was built from (source, flags, compiler, processor) and of its own bytes. A file is loaded only if it is ours, nobody
else may write to it, and its bytes have the digest in its name. It is built beside its place and renamed, so that any
number of processes may build at once.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hubrelease.arithmetic.values import PathMissing
from hubrelease.digest import key_of, sha256

SOURCE = Path(__file__).with_name("native.c")
COMPILERS = ("cc", "gcc", "clang")
FLAGS = (
    "-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared", "-fvisibility=hidden", "-Wno-psabi",
    "-ffp-contract=off",  # a fused multiply-add rounds once where the rules round twice
    "-fno-math-errno", "-fno-trapping-math",  # neither changes a result; loops are vectorised with them
)  # fmt: skip
BUILD_SECONDS = 300


def library_file(folder: Path) -> Path:
    """The library's path, built if it is not there yet. Raises PathMissing."""
    compiler = find_compiler()
    key = build_key(compiler)
    try:
        make_private(folder)
        return next(usable(folder, key), None) or build(folder, key, compiler)
    except OSError as error:
        raise PathMissing(f"the folder {folder} for the compiled library can't be used: {error.strerror or error}") from None


def find_compiler() -> str:
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is None:
        raise PathMissing(f"no C compiler on PATH ({', '.join(COMPILERS)}): install one, e.g. the package gcc")
    return found


def build_key(compiler: str) -> str:
    """The digest of all that decides what is built. -march=native makes the processor a part of it."""
    said = subprocess.run([compiler, "--version"], capture_output=True, check=False, timeout=60).stdout.decode(errors="replace")
    made_of = (sha256(SOURCE.read_bytes()), list(FLAGS), os.path.realpath(compiler), said)
    return key_of(*made_of, platform.machine(), sys.platform, processor())


def processor() -> list[str]:
    """What the kernel says this processor can do, where it says so."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return [platform.processor()]
    wanted = ("flags", "Features", "model name", "CPU implementer", "CPU part")
    return sorted({line for line in lines if line.split("\t")[0].rstrip() in wanted})


def make_private(folder: Path) -> None:
    """Makes the folder, or makes sure that nobody but its owner can put a library there."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or is_foreign(found):
        raise PathMissing(f"{folder} is not a folder of yours that nobody else may write to: remove it, or set XDG_CACHE_HOME")


def is_foreign(found: os.stat_result) -> bool:
    return found.st_uid != os.geteuid() or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def usable(folder: Path, key: str) -> Iterator[Path]:
    """Libraries built from the same, whose bytes have the digest that their names tell."""
    for path in sorted(folder.glob(f"{key}-*.so")):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode) and not is_foreign(found) and path.stem == f"{key}-{sha256(path.read_bytes())}":
            yield path


def build(folder: Path, key: str, compiler: str) -> Path:
    with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as work:
        made = Path(work) / "native.so"
        compile_to(made, compiler)
        made.chmod(0o700)
        target = folder / f"{key}-{sha256(made.read_bytes())}.so"
        os.replace(made, target)
    return target


def compile_to(made: Path, compiler: str) -> None:
    command = [compiler, *FLAGS, "-o", str(made), "-x", "c", str(SOURCE)]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise PathMissing(f"{compiler} took longer than {BUILD_SECONDS} s") from None
    if done.returncode or not made.is_file():
        raise PathMissing(f"{compiler} could not build native.c: {done.stderr.decode(errors='replace').strip()[:500]}")
