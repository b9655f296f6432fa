"""A card beside its data: whether README.md is what the data renders to."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from hubrelease.errors import OutsideError, Problem, problem
from hubrelease.workspace import write_durably


def compare(card: str, readme: Path) -> tuple[list[str], list[Problem]]:
    """The lines of a diff from README.md to `card` and, if they differ, one Problem (HR502)."""
    there = read(readme)
    if there == card.encode():
        return [], []
    old, new = (StringIO(text, newline="\n").readlines() for text in (there.decode("utf-8", "backslashreplace"), card))
    lines = [shown(line) for line in difflib.unified_diff(old, new, readme.name, "rendered", n=2)]
    mend = f"run `hubrelease card render -o {readme.name}`; what is written by hand goes into release.yaml or a marked block"
    return lines, [problem("card-differs", readme.name, "is not what its data renders to", mend)]


def compare_all(files: Mapping[Path, str]) -> tuple[list[str], list[Problem]]:
    """The same of several files."""
    found = [compare(text, path) for path, text in files.items()]
    return [line for lines, _ in found for line in lines], [p for _, problems in found for p in problems]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        message = f"could not be read: {error.strerror}"
        raise OutsideError(problem("card-differs", str(path), message, "give yourself read access")) from None


def shown(line: str) -> str:
    """A line of a diff without its end; an end that is not LF is shown, for it may be all that differs."""
    text = line.removesuffix("\n")
    if text == line:
        return text + " (no line end)"
    return text.removesuffix("\r") + " (CRLF)" if text.endswith("\r") else text


def write_card(path: Path, card: str) -> None:
    """Replaces the file whole."""
    if path.is_dir():
        raise OutsideError(problem("disk-fault", str(path), "is a folder", "name a file, such as README.md in it"))
    try:
        write_durably(path, card.encode("utf-8"))
    except OSError as error:
        raise OutsideError(problem("disk-fault", str(path), f"could not be written: {error.strerror}", "choose another -o")) from None
