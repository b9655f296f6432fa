"""Files that release.yaml names beside itself: receipts, texts, templates. Inside its folder, no links out of it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from hubrelease.errors import CheckFailed, OutsideError, Problem, Where, problem
from hubrelease.spec import Spec

MAX_BYTES = 256 * 2**20  # larger receipts are rows of samples, which belong into a dataset
MEND = "correct the path, or add the file; it must lie in the folder of release.yaml"


def find(spec: Spec, path: str, pointer: str) -> Path:
    """The path of a file beside release.yaml. CheckFailed (HR110) with the line that names it otherwise."""
    if fault := fault_of(spec, path, spec.where(pointer)):
        raise CheckFailed(fault)
    return spec.folder / path


def fault_of(spec: Spec, path: str, where: Where) -> Problem | None:
    if path.startswith(("/", "~", "\\")) or ".." in path.replace("\\", "/").split("/"):
        return problem("local-file-missing", where, f'"{path[:100]}" leaves the folder of release.yaml', MEND)
    real, folder = os.path.realpath(spec.folder / path), os.path.realpath(spec.folder)
    if not real.startswith(folder.rstrip(os.sep) + os.sep):
        return problem("local-file-missing", where, f'"{path[:100]}" is a link that leaves the folder of release.yaml', MEND)
    if not os.path.isfile(real):
        return problem("local-file-missing", where, f'"{path[:100]}" does not exist', MEND)
    if os.path.getsize(real) > MAX_BYTES:
        return problem("local-file-missing", where, f'"{path[:100]}" is larger than {MAX_BYTES} bytes', "name a smaller file")
    return None


def read(spec: Spec, path: str, pointer: str) -> bytes:
    """The bytes of a file beside release.yaml."""
    found = find(spec, path, pointer)
    try:
        return found.read_bytes()
    except OSError as error:
        unread = problem("local-file-missing", spec.where(pointer), f'"{path}": {error.strerror}', "give yourself read access")
        raise OutsideError(replace(unread, undecided=True)) from None
