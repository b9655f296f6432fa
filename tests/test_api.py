"""The Python API: importable, typed, explained with an example each; the names of README.md do what it says."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import tiny
from specs import LOCAL, MINIMAL, folder, local

import hubrelease
from hubrelease import errors, lock
from hubrelease.errors import Exit, ReleaseError

NAMES = ("load_spec", "pin", "build", "verify", "render_card", "seal", "bench_report", "validate")


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_typed_and_has_an_example(name: str) -> None:
    function = getattr(hubrelease, name)
    hints = get_type_hints(function)
    assert set(hints) == {*inspect.signature(function).parameters, "return"}
    assert Any not in hints.values()
    text = inspect.getdoc(function) or ""
    assert re.search(rf"Example: `.*hubrelease\.{name}\(", text), text
    assert text.splitlines()[0].endswith((".", ","))


def test_the_public_names_are_listed_and_no_others() -> None:
    assert set(hubrelease.__all__) == {*NAMES, "__version__"}
    assert sorted(hubrelease.__all__) == list(hubrelease.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = hubrelease.nothing  # type: ignore[attr-defined]


def test_a_type_checker_sees_the_names_and_their_types() -> None:
    """PEP 561's marker, and names that stand where a type checker looks although they are loaded on first use."""
    package = Path(inspect.getfile(hubrelease)).parent
    assert (package / "py.typed").is_file()
    blocks = [node for node in ast.parse((package / "__init__.py").read_text()).body if isinstance(node, ast.If)]
    seen = {alias.name for node in ast.walk(blocks[0]) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(NAMES) <= seen


def test_a_release_from_python_as_the_readme_shows_it(tmp_path: Path) -> None:
    root = local(tmp_path / "p")
    asked = hubrelease.load_spec(root)
    locked = hubrelease.pin(asked)
    built = hubrelease.build(asked, tmp_path / "out", locked=True)
    card = hubrelease.render_card(asked, tree=built.folder)
    verdict = hubrelease.verify(built.folder)
    assert verdict.exit == 0, verdict.problems
    assert (built.folder / "README.md").read_text() == card == hubrelease.render_card(asked)
    assert locked.source("base_model") is not None
    assert verdict.release_digest == built.release_digest


def test_seal_makes_a_folder_a_release_in_place(tmp_path: Path) -> None:
    root = folder(tmp_path / "r", {**MINIMAL, "weights": {"format": "bf16"}})
    tiny.write(root, {name: data for name, data in tiny.model().items() if name != "README.md"})
    built = hubrelease.seal(root)
    assert hubrelease.verify(root).exit == 0
    assert built.folder == root


def test_a_foreseen_end_is_a_release_error_with_problems_and_an_exit_code(tmp_path: Path) -> None:
    asked = hubrelease.load_spec(folder(tmp_path / "p", LOCAL))
    calls = {
        Exit.USAGE: lambda: hubrelease.load_spec(tmp_path),
        Exit.BAD: lambda: hubrelease.build(asked, tmp_path / "out", locked=True),
        Exit.OUTSIDE: lambda: hubrelease.pin(asked),  # its folder is not there
    }
    for code, call in calls.items():
        with pytest.raises(ReleaseError) as caught:
            call()
        assert caught.value.exit == code
        assert all(p.message and p.mend for p in caught.value.problems)


@pytest.mark.parametrize("path", [str, Path], ids=["text", "path"])
def test_paths_may_be_text_or_path(tmp_path: Path, path: type) -> None:
    root = folder(tmp_path, MINIMAL)
    assert hubrelease.load_spec(path(root)) == hubrelease.load_spec(path(root / "release.yaml"))


def test_nothing_that_the_api_gives_can_be_changed(tmp_path: Path) -> None:
    asked = hubrelease.load_spec(folder(tmp_path, MINIMAL))
    for value in (asked, asked.weights, lock.Lock(), errors.Where("x")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, fields(value)[0].name, None)


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert hubrelease.__version__ == version("hubrelease")
