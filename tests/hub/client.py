"""The real client in processes of its own: a clean environment, `hf`, and Python programs.

huggingface_hub reads nearly all of its settings once, when it is imported, hence one process for each setting.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

KEPT = ("LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")
BIN = Path(sys.executable).parent


def environment(endpoint: str, token: str | None, home: Path, xet: bool, offline: bool) -> dict[str, str]:
    """What a client of one Hub needs and nothing of this machine's own accounts, caches and proxies."""
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home),
        "HF_HOME": str(home / "hf"),
        "HF_ENDPOINT": endpoint,
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
    }
    settings = {
        "HF_TOKEN": token,
        "HF_HUB_DISABLE_XET": None if xet else "1",
        "HF_HUB_OFFLINE": "1" if offline else None,
    }
    return env | {name: value for name, value in settings.items() if value}


def hf(env: Mapping[str, str], *arguments: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run `hf`; the caller looks at returncode, stdout and stderr."""
    return _run([BIN / "hf", *arguments], env, timeout)


def python(env: Mapping[str, str], program: str, *arguments: str | Path, timeout: float = 120) -> str:
    """Run a Python program and return what it printed. AssertionError with its traceback when it fails."""
    done = _run([sys.executable, "-c", program, *arguments], env, timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run(command: list[str | Path], env: Mapping[str, str], timeout: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], env=dict(env), capture_output=True, text=True, timeout=timeout, check=False)
