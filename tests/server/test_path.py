"""The server's folder hides no installed package: transformers imports one that is called `kernels`, as a folder of ours is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy
RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
ASKED = """
import importlib, importlib.util, sys
sys.path.insert(0, "")
import server.__main__ as main
before = importlib.util.find_spec("kernels").origin
main.leave_path()
importlib.import_module("server.serving")
importlib.import_module("engine.core")
print(before, importlib.util.find_spec("kernels").origin, sep="\\n")
"""


def test_an_installed_package_called_kernels_is_found_and_the_servers_own_modules_are_too(tmp_path):
    pytest.importorskip("torch", reason="the environment of `make server`")
    installed = tmp_path / "kernels" / "__init__.py"
    installed.parent.mkdir()
    installed.write_text("")
    code = f"import sys; sys.path.append({str(tmp_path)!r})" + ASKED
    done = subprocess.run([sys.executable, "-c", code], cwd=RUNTIME, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(RUNTIME / "kernels" / "__init__.py"), str(installed)]
