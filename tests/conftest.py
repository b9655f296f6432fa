"""Fixtures: caches of its own for every test, the command line in this process and in one of its own, a Hub with a tiny model."""

import itertools
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("same-every-time", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.load_profile("same-every-time")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so a shell starts what runs behind it; tests of Ctrl-C need it back
    signal.signal(signal.SIGINT, signal.default_int_handler)

NUMBERS = itertools.count()
HOME = tempfile.TemporaryDirectory(prefix="hubrelease-tests-")
for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "SOURCE_DATE_EPOCH"):
    os.environ.pop(variable, None)  # nothing of who runs the tests may reach them
os.environ |= {"HF_HOME": f"{HOME.name}/hf", "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_DISABLE_TELEMETRY": "1"}

import tiny_upstream  # noqa: E402
from command_line import Cli, in_process, in_subprocess  # noqa: E402
from hub import Hub  # noqa: E402
from project import UPSTREAM, Project, project  # noqa: E402


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the files of tests/golden anew; look at the difference")


@pytest.fixture(autouse=True)
def own_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the caches of another, or of whoever runs it. The folders are made by what first needs them."""
    home = f"{HOME.name}/{next(NUMBERS)}"
    monkeypatch.setenv("XDG_CACHE_HOME", f"{home}/cache")
    monkeypatch.setenv("HF_HOME", f"{home}/hf")


@pytest.fixture
def cli() -> Cli:
    """`cli("check", folder)`: a command in this process."""
    return in_process


@pytest.fixture
def process() -> Cli:
    """`process("check", folder)`: `python -m hubrelease` in a process of its own."""
    return in_subprocess


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub(large_bytes=tiny_upstream.LARGE_BYTES) as made:
        made.create(UPSTREAM, tiny_upstream.base())
        yield made


@pytest.fixture
def author(hub: Hub, tmp_path: Path) -> Project:
    return project(tmp_path, hub.env(tmp_path / "home"))
