"""Fixtures for the tests of the local Hub: a fresh Hub, and environments with homes of their own."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hub import Hub

Env = Callable[..., dict[str, str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The local Hub's own tests are slow, and every test of pinning, fetching and publishing uses it: `make heavy` runs them."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and item.path.name != "test_objects.py":
            item.add_marker(pytest.mark.heavy)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as made:
        yield made


@pytest.fixture
def env(hub: Hub, tmp_path: Path) -> Env:
    """`env(xet=…, offline=…, token=…, home=…)`: by default each with a fresh home."""
    number = itertools.count()

    def make(home: str | None = None, **settings: bool | str | None) -> dict[str, str]:
        return hub.env(tmp_path / (home or f"home-{next(number)}"), **settings)  # type: ignore[arg-type]

    return make
