"""A card beside its data: where README.md lies, and whether it is what the data renders to."""

from __future__ import annotations

import difflib
from io import StringIO
from pathlib import Path

from hubrelease.errors import OutsideError, Problem, problem
from hubrelease.spec import Spec, load_spec
from hubrelease.workspace import write_durably


def find_spec(path: Path) -> tuple[Spec, Path]:
    """The spec of a folder or a release.yaml, and the README.md that goes with it."""
    spec = load_spec(path)
    return spec, spec.folder / "README.md"


def compare(card: str, readme: Path) -> tuple[list[str], list[Problem]]:
    """The lines of a diff from README.md to `card` and, if they differ, one Problem (HR502)."""
    try:
        there = readme.read_bytes()
    except FileNotFoundError:
        there = b""
    except OSError as error:
        raise OutsideError(
            problem("card-differs", str(readme), f"could not be read: {error.strerror}", "give yourself read access")
        ) from None
    if there == card.encode():
        return [], []
    old, new = (StringIO(text, newline="\n").readlines() for text in (there.decode("utf-8", "backslashreplace"), card))
    lines = [shown(line) for line in difflib.unified_diff(old, new, readme.name, "rendered", n=2)]
    return lines, [problem("card-differs", readme.name, "is not what its data renders to", "run `hubrelease card render -o README.md`")]


def shown(line: str) -> str:
    """A line of a diff without its end; an end that is not LF is shown, for it may be all that differs."""
    text = line.removesuffix("\n")
    if text == line:
        return text + " (no line end)"
    return text.removesuffix("\r") + " (CRLF)" if text.endswith("\r") else text


def write_card(path: Path, card: str) -> None:
    """Replaces the file whole."""
    try:
        write_durably(path, card.encode("utf-8"))
    except OSError as error:
        raise OutsideError(problem("disk-fault", str(path), f"could not be written: {error.strerror}", "choose another -o")) from None
