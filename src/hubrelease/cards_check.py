"""A card beside its data: where README.md lies, and whether it is what the data renders to."""

from __future__ import annotations

from pathlib import Path

from hubrelease.errors import OutsideError, Problem, problem
from hubrelease.spec import Spec, load_spec
from hubrelease.workspace import write_durably


def find_spec(path: Path) -> tuple[Spec, Path]:
    """The spec of a folder or a release.yaml, and the README.md that goes with it."""
    spec = load_spec(path)
    return spec, spec.folder / "README.md"


def compare(card: str, readme: Path) -> tuple[str, list[Problem]]:
    """The text of README.md and, if it differs from `card`, one Problem (HR502)."""
    try:
        there = readme.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        there = ""
    except OSError as error:
        raise OutsideError(
            problem("card-differs", str(readme), f"could not be read: {error.strerror}", "give yourself read access")
        ) from None
    if there == card:
        return there, []
    return there, [problem("card-differs", readme.name, "is not what its data renders to", "run `hubrelease card render -o README.md`")]


def write_card(path: Path, card: str) -> None:
    """Replaces the file whole."""
    try:
        write_durably(path, card.encode("utf-8"))
    except OSError as error:
        raise OutsideError(problem("disk-fault", str(path), f"could not be written: {error.strerror}", "choose another -o")) from None
