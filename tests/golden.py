"""Golden files: what was written once and looked at. `pytest --update-golden` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden"


def same_as_golden(request: pytest.FixtureRequest, name: str, text: str) -> None:
    """`text` is the golden file `name`, byte for byte."""
    file = FOLDER / name
    if request.config.getoption("--update-golden"):
        file.write_bytes(text.encode())
    assert file.read_bytes().decode() == text
