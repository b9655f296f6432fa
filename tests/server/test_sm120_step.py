"""runtime.kind sm120: what a build copies, what it refuses, and what the image's entry point does with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
from runtime_path import RUNTIME
from specs import DIGEST, LOCAL, faults, folder

import hubrelease
from hubrelease import lock as locks
from hubrelease.lock import LockedPackage, LockedPackages
from hubrelease.serving import sm120

PACKAGES = [f"{name}==1.0" for name in sm120.IMPORTED]
SPEC: dict[str, Any] = {
    **LOCAL,
    "sources": {**LOCAL["sources"], "image": {"image": f"docker.io/library/python:3.12.13-bookworm@{DIGEST}"}},
    "runtime": {"kind": "sm120", "image": "image", "packages": PACKAGES},
}  # fmt: skip


def built(root: Path, packages: list[str] = PACKAGES) -> Path:
    """A release of kind sm120, its packages locked as if pip had resolved them."""
    folder(root, {**SPEC, "runtime": {**SPEC["runtime"], "packages": packages}})
    tiny.write(root / "base", upstream())
    spec = hubrelease.load_spec(root)
    without = {**SPEC, "runtime": {"kind": "verify", "image": "image"}}
    hubrelease.pin(hubrelease.load_spec(folder(root, without)))
    lock = locks.read(hubrelease.load_spec(root))
    assert lock
    request = locks.packages_request(spec)
    assert request
    resolved = tuple(sorted((LockedPackage(p.partition("==")[0], "1.0", ("a" * 64,)) for p in packages), key=lambda p: p.name))
    folder(root, {**SPEC, "runtime": {**SPEC["runtime"], "packages": packages}})
    locks.path_of(spec).write_bytes(locks.dumps(locks.Lock(lock.sources, LockedPackages(request, resolved))))
    hubrelease.build(hubrelease.load_spec(root), root / "out", locked=True)
    return root / "out"


def upstream() -> Any:
    import tiny_upstream

    return tiny_upstream.base()


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("sm120"))


def test_the_whole_runtime_travels_as_it_is(release: Path) -> None:
    for name in sm120.FOLDERS:
        ours = {p.relative_to(RUNTIME) for p in (RUNTIME / name).rglob("*") if p.suffix in sm120.SUFFIXES}
        theirs = {p.relative_to(release / "runtime") for p in (release / "runtime" / name).rglob("*") if p.is_file()}
        assert ours == theirs
        assert all((RUNTIME / p).read_bytes() == (release / "runtime" / p).read_bytes() for p in ours)


def test_it_verifies_and_its_files_have_the_runtimes_role(release: Path) -> None:
    provenance = json.loads((release / "MODEL_PROVENANCE.json").read_bytes())
    roles = {s["name"]: s["annotations"]["role"] for s in provenance["subject"]}
    assert roles["runtime/server/app.py"] == roles["runtime/kernels/sm120_entry.cu"] == roles["Dockerfile"] == "runtime"
    done = subprocess.run(
        [sys.executable, "-I", str(release / "runtime/verify_release.py"), str(release)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_dockerfile_names_image_version_and_release(release: Path) -> None:
    text = (release / "Dockerfile").read_text()
    assert text.count(f"FROM docker.io/library/python:3.12.13-bookworm@{DIGEST}") == 2
    assert 'org.opencontainers.image.version="1.0.0"' in text
    assert "@BASE_IMAGE@" not in text


def test_two_builds_are_the_same_bytes(release: Path, tmp_path: Path) -> None:
    again = built(tmp_path)
    assert (again / "MODEL_PROVENANCE.json").read_bytes() == (release / "MODEL_PROVENANCE.json").read_bytes()


def test_a_package_that_the_code_imports_is_asked_for(tmp_path: Path) -> None:
    (found,) = faults(lambda: built(tmp_path, [p for p in PACKAGES if not p.startswith(("uvicorn", "fla-core"))]))
    assert found.kind == "runtime-incomplete"
    assert "uvicorn, fla-core" in found.message


def test_every_third_party_import_of_the_runtime_is_asked_for() -> None:
    """Read from the source, so that a new import can't be forgotten."""
    import ast

    names = {"PIL": "pillow", "python_multipart": "python-multipart", "fla": "fla-core", "h11": "uvicorn"}
    ours = {"server", "engine", "kernels", *sys.stdlib_module_names}
    found = set()
    for name in sm120.FOLDERS:
        for file in (RUNTIME / name).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    found.add(node.module.partition(".")[0])
    assert {names.get(name, name) for name in found - ours} <= set(sm120.IMPORTED)


# --------------------------------------------------------------------------------------------------------- entrypoint.py


@pytest.fixture
def image(release: Path, tmp_path: Path) -> Path:
    """/opt/release as the Dockerfile lays it out, with a server that only says what it was started with."""
    for name in ("entrypoint.py", "verify_release.py"):
        (tmp_path / name).write_bytes((release / "runtime" / name).read_bytes())
    (tmp_path / "server").mkdir()
    (tmp_path / "server/__main__.py").write_text("import os, sys; print('SERVED', sys.argv[1:], os.getcwd())\n")
    return tmp_path


def entry(image: Path, *words: str | Path) -> tuple[int, str, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-I", str(image / "entrypoint.py"), *map(str, words)], capture_output=True, text=True, check=False, cwd="/"
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("{")]
    return done.returncode, done.stdout, json.loads(lines[0]) if lines else {}


def test_it_verifies_then_serves(image: Path, release: Path) -> None:
    code, out, line = entry(image, release, "--host", "0.0.0.0")
    assert (code, line["event"], line["mode"], line["exitCode"]) == (0, "verified", "full", 0)
    assert f"SERVED {[str(release), '--host', '0.0.0.0']} {os.path.realpath(image)}" in out


def test_a_restart_that_compares_sizes_only_says_so(image: Path, release: Path) -> None:
    code, out, line = entry(image, release, "--sizes-only", "--port", "1")
    assert (code, line["mode"]) == (0, "sizes-only")
    assert "SERVED" in out


def test_it_runs_another_command_or_only_verifies(image: Path, release: Path) -> None:
    assert entry(image, release, "echo", "hello")[1].endswith("hello\n")
    assert "SERVED" not in entry(image, release, "--verify-only")[1]
    assert entry(image)[0] == 2


def test_a_changed_release_is_not_served(image: Path, release: Path, tmp_path: Path) -> None:
    import shutil

    changed = tmp_path / "changed"
    shutil.copytree(release, changed)
    (changed / "config.json").write_bytes((changed / "config.json").read_bytes().replace(b"{", b"[", 1))
    code, out, line = entry(image, changed)
    assert (code, line["exitCode"]) == (1, 1)
    assert "SERVED" not in out
    assert entry(image, changed, "--sizes-only")[0] == 0  # what it can't see, and why it is logged


def test_the_mounted_folders_own_code_is_never_run(image: Path, release: Path, tmp_path: Path) -> None:
    import shutil

    planted = tmp_path / "planted"
    shutil.copytree(release, planted)
    (planted / "runtime/verify_release.py").write_text("print('PLANTED')\n")
    code, out, _ = entry(image, planted)
    assert code == 1
    assert "PLANTED" not in out
