""".eval_results/*.yaml: scores of the release in the Hub's own form (huggingface/hub-docs eval_results.yaml)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hubrelease.errors import SpecError
from hubrelease.front_matter import CardComposer, Fault
from hubrelease.strict_yaml import Node

if TYPE_CHECKING:
    from hubrelease.release import Release

FOLDER = ".eval_results/"


class ResultFile(NamedTuple):
    """`node` is None where the file can't be read; then `faults` say why."""

    node: Node | None
    faults: tuple[Fault, ...]


def result_files(release: Release) -> list[str]:
    return sorted(path for path in release.files if path.startswith(FOLDER) and path.endswith((".yaml", ".yml")))


def read(release: Release, path: str) -> ResultFile:
    """OSError if the file can't be read."""
    data = release.read(path, 2**20)
    if data is None:
        return ResultFile(None, ())
    composer = CardComposer(path)
    try:
        node = composer.compose(data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        return ResultFile(None, (Fault(data[: error.start].count(b"\n") + 1, f"byte {error.start} is not UTF-8"),))
    except SpecError as error:
        return ResultFile(None, tuple(Fault(p.where.line or 1, p.message) for p in error.problems))
    return ResultFile(node, tuple(composer.faults))
