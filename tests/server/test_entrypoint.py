"""The entry point by itself, with a verifier and a server of three lines beside it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runtime_path import RUNTIME


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A folder `runtime` whose server imports a module of its own, and ends."""
    made = tmp_path / "ré lease" / "runtime"
    (made / "server").mkdir(parents=True)
    shutil.copy(RUNTIME / "entrypoint.py", made)
    (made / "verify_release.py").write_text("")
    (made / "server/__init__.py").write_text("")
    (made / "server/inside.py").write_text("")
    (made / "server/__main__.py").write_text("import server.inside, sys\nprint(sys.argv[1:])\n")
    return made


def words(runtime: Path, *more: str) -> list[str]:
    return [sys.executable, "-I", str(runtime / "entrypoint.py"), str(runtime.parent), *more]


def test_serving_leaves_nothing_in_the_release(runtime: Path) -> None:
    """A bytecode file would be undeclared code at the next start."""
    before = sorted(runtime.rglob("*"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(words(runtime, "--port", "1"), capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"{[str(runtime.parent), '--port', '1']}\n"
    assert sorted(runtime.rglob("*")) == before


def test_a_signal_while_it_verifies_ends_the_verifier_too(runtime: Path, tmp_path: Path) -> None:
    """As the first process of a container it gets no default action for a signal."""
    mark = tmp_path / "pid"
    slow = f"import os, pathlib, time\npathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\ntime.sleep(60)\n"
    (runtime / "verify_release.py").write_text(slow)
    child = subprocess.Popen(words(runtime), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=20)
    assert child.returncode == 128 + signal.SIGTERM
    assert not out
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
