"""Fixtures for tests with a Hub: a fresh one that holds a tiny model, and an author's project beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_upstream
from hub import Hub
from project import UPSTREAM, Project, project


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub(large_bytes=tiny_upstream.LARGE_BYTES) as made:
        made.create(UPSTREAM, tiny_upstream.base())
        yield made


@pytest.fixture
def author(hub: Hub, tmp_path: Path) -> Project:
    return project(tmp_path, hub.env(tmp_path / "home"))
