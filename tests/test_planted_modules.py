"""The stand-alone verifier in a folder that holds modules of the names that it imports: none is run, nothing is left behind."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

SOURCE = tiny.VERIFIER_SOURCE.read_bytes()
MODULES = """__future__ abc argparse bisect codecs collections contextlib copyreg ctypes enum errno functools genericpath gettext glob hashlib
heapq io itertools json keyword linecache locale marshal math operator os pickle pickletools posixpath random re reprlib shutil signal
sitecustomize site stat string struct sys textwrap threading time token tokenize traceback types typing unicodedata usercustomize warnings
weakref zipimport _hashlib _json _sha256"""
PACKAGES = ["collections", "encodings", "json", "importlib", "re", "ctypes"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release with a module for each name beside the verifier and at the root, as source, package and stale bytecode."""
    root = tiny.release(tmp_path / "release")
    marker = tmp_path / "run"
    for folder in (root / "runtime", root):
        for name in MODULES.split():
            plant(folder, name, marker)
        for name in PACKAGES:
            plant(folder / name, "__init__", marker)
        plant(folder, "verify_release_helper", marker)
        stale(folder, "verify_release", marker)
    return root


def plant(folder: Path, name: str, marker: Path) -> None:
    tiny.write(folder, {f"{name}.py": code(f"{folder.name}/{name}", marker).encode()})
    stale(folder, name, marker)


def stale(folder: Path, name: str, marker: Path) -> None:
    """Bytecode that Python takes without looking at the source (PEP 552, unchecked)."""
    path = Path(importlib.util.cache_from_source(str(folder / f"{name}.py")))
    compiled = importlib._bootstrap_external._code_to_hash_pyc(  # type: ignore[attr-defined]
        compile(code(f"{folder.name}/{name}.pyc", marker), "x", "exec"), b"\0" * 8, checked=False
    )
    tiny.write(path.parent, {path.name: compiled})


def code(who: str, marker: Path) -> str:
    return f"import builtins\nbuiltins.open({str(marker)!r}, 'a').write({who!r} + '\\n')\n"


def environment(**more: str) -> dict[str, str]:
    """That of a user who has not thought of bytecode."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return plain | more


def run(arguments: list[str], cwd: Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, input=stdin, env=environment(**env), capture_output=True, timeout=60, check=False
    )


WAYS = {
    "as the contract says": (["runtime/verify_release.py", "."], "", {}),
    "isolated": (["-I", "runtime/verify_release.py", "."], "", {}),
    "no bytecode": (["-B", "runtime/verify_release.py", "."], "", {}),
    "safe path": (["-P", "runtime/verify_release.py", "."], "", {}),
    "safe path by the environment": (["runtime/verify_release.py", "."], "", {"PYTHONSAFEPATH": "1"}),
    "no site": (["-S", "runtime/verify_release.py", "."], "", {}),
    "optimised": (["-OO", "runtime/verify_release.py", "."], "", {}),
    "dotted": (["./runtime/../runtime/verify_release.py", "."], "", {}),
    "from inside runtime": (["verify_release.py", ".."], "runtime", {}),
    "from elsewhere": (["release/runtime/verify_release.py", "release"], "..", {}),
    "as JSON": (["runtime/verify_release.py", "--json"], "", {}),
    "from standard input": (["-", "."], "", {}),
    "from standard input inside runtime": (["-", ".."], "runtime", {}),
}


@pytest.mark.parametrize(("arguments", "folder", "env"), WAYS.values(), ids=WAYS)
def test_nothing_planted_is_run_and_nothing_is_left(root: Path, arguments: list[str], folder: str, env: dict[str, str]) -> None:
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    done = run(arguments, root / folder, SOURCE if "-" in arguments else b"", **env)
    assert not (root.parent / "run").exists(), (root.parent / "run").read_text()
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"runtime/json.py" in done.stdout


def test_the_plants_would_run_if_their_folder_were_searched(root: Path) -> None:
    """The test of the test: with the first lines of the verifier gone, the planted json.py runs."""
    verifier = root / tiny.VERIFIER
    verifier.write_text(verifier.read_text().replace('if __name__ == "__main__":  # before', "if False:  # before"))
    run([tiny.VERIFIER, "."], root)
    assert "runtime/" in (root.parent / "run").read_text()


def test_a_good_release_stays_as_it_is(tmp_path: Path) -> None:
    root = tiny.release(tmp_path / "release")
    before = sorted(root.rglob("*"))
    done = run([tiny.VERIFIER, "."], root)
    assert (done.returncode, done.stderr) == (0, b""), done.stdout
    assert sorted(root.rglob("*")) == before


def test_hubrelease_runs_nothing_of_the_folder_either(root: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "hubrelease", "verify", "."],
        cwd=root,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert not (root.parent / "run").exists()
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_the_verifier_imports_nothing_but_the_standard_library() -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("__import__", "exec", "eval", "compile")
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert not {name.split(".")[0] for name in names} & {"importlib", "pickle", "subprocess", "ctypes", "runpy", "socket", "urllib", "http"}


def test_only_sys_is_imported_before_the_folder_is_taken_off_the_path() -> None:
    imports: list[str] = []
    for node in ast.parse(SOURCE).body:
        if isinstance(node, ast.If):
            break
        imports += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imports += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    assert imports == ["sys"]
