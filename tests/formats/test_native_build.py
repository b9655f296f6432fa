"""native.c is built once, kept where only its owner can put it, loaded only if it is what was built, and right on any compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from parity import form_of, ours
from parity_tensors import SAMPLES

from hubrelease.arithmetic import building, native, paths
from hubrelease.arithmetic.kernels import KERNELS
from hubrelease.arithmetic.native import NativeEncoder, declare, self_test, self_test_digest
from hubrelease.arithmetic.values import PathMissing
from hubrelease.formats import formats, named

pytestmark = pytest.mark.heavy  # seconds each

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "native"


def test_it_is_built_once_in_a_folder_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = building.library_file(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == [first.name]
    monkeypatch.setattr(building, "compile_to", lambda *_: pytest.fail("built again"))
    assert building.library_file(folder) == first


def test_a_library_whose_bytes_changed_is_not_loaded(folder: Path) -> None:
    path = building.library_file(folder)
    good = path.read_bytes()
    path.write_bytes(good + b"\0")
    again = building.library_file(folder)
    assert again.read_bytes() == good


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_library_that_others_may_write_to_is_not_loaded(folder: Path, mode: int) -> None:
    path = building.library_file(folder)
    path.chmod(mode)
    assert list(building.usable(folder, path.stem.split("-")[0])) == []


def test_a_link_is_not_loaded(folder: Path, tmp_path: Path) -> None:
    path = building.library_file(folder)
    moved = tmp_path / "moved"
    path.rename(moved)
    path.symlink_to(moved)
    assert list(building.usable(folder, path.stem.split("-")[0])) == []
    assert not building.library_file(folder).is_symlink()


@pytest.mark.parametrize("mode", [0o720, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PathMissing, match="nobody else may write to"):
        building.library_file(folder)


def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathMissing, match="not a folder of yours"):
        building.library_file(folder)


def test_a_folder_that_can_not_be_made_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PathMissing, match="can't be used"):
        building.library_file(tmp_path / "file" / "native")


def test_without_a_compiler_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PathMissing, match="no C compiler"):
        building.library_file(folder)


def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(PathMissing, match=r"could not build native\.c: no such option"):
        building.library_file(folder)
    assert list(folder.iterdir()) == []


def test_another_compiler_or_source_means_another_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = building.find_compiler()
    key = building.build_key(compiler)
    assert key == building.build_key(compiler)
    with monkeypatch.context() as patched:
        patched.setattr(building, "FLAGS", (*building.FLAGS, "-g"))
        assert building.build_key(compiler) != key
    (tmp_path / "native.c").write_bytes(building.SOURCE.read_bytes() + b"\n")
    monkeypatch.setattr(building, "SOURCE", tmp_path / "native.c")
    assert building.build_key(compiler) != key


def test_processes_may_build_at_the_same_time(tmp_path: Path) -> None:
    code = "from hubrelease.formats import named; print(named('fp8_block').encoder('cpu', 'native').path)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate()[0] for process in running] == [b"native\n"] * 3
    assert [path.suffix for path in (tmp_path / "hubrelease" / "native").iterdir()] == [".so"]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [(), ("-DHUBRELEASE_PLAIN",), ("-DHUBRELEASE_PLAIN", "-O1"), ("-O0",)], ids=" ".join)
def test_every_compiler_and_the_plain_code_give_the_same_bits(
    compiler: str, flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "FLAGS", (*building.FLAGS, *flags))
    building.compile_to(tmp_path / "native.so", compiler)
    loaded = ctypes.CDLL(str(tmp_path / "native.so"))
    declare(loaded)
    self_test(loaded)
    monkeypatch.setattr(native, "LOADED", [loaded])
    found = {(form.name, s.name): ours(form_of(form.name), s, "native") for form in quantising() for s in SAMPLES if s.dtype == "BF16"}
    monkeypatch.undo()
    assert found == {
        (form.name, s.name): ours(form_of(form.name), s, "native") for form in quantising() for s in SAMPLES if s.dtype == "BF16"
    }


def quantising() -> list[object]:
    return [form for form in formats() if form.name not in ("bf16", "nvfp4")]


def test_a_compiler_that_rounds_in_its_own_way_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = building.SOURCE.read_text().replace("448.0f; /* as", "447.99997f; /* as")
    (tmp_path / "native.c").write_text(source)
    monkeypatch.setattr(building, "SOURCE", tmp_path / "native.c")
    building.compile_to(tmp_path / "native.so", building.find_compiler())
    loaded = ctypes.CDLL(str(tmp_path / "native.so"))
    declare(loaded)
    with pytest.raises(PathMissing, match="fp8_block, as the C compiler"):
        self_test(loaded)


def test_the_self_test_has_every_native_kernel() -> None:
    assert set(native.SELF_TEST) == set(KERNELS) - {"to_bf16"}
    for name, wanted in native.SELF_TEST.items():
        assert self_test_digest(NativeEncoder(KERNELS[name])) == wanted


def test_a_path_is_refused_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    form = named("fp8_block")
    with pytest.raises(PathMissing, match="no path 'numpy' on cpu"):
        form.encoder("cpu", "numpy")
    with pytest.raises(PathMissing, match="no path 'native' on cuda"):
        form.encoder("cuda", "native")
    with pytest.raises(PathMissing, match="no device 'tpu'"):
        form.encoder("tpu")
    with pytest.raises(PathMissing, match="takes BF16, not F32"):
        form.encoder("cpu", "native", "F32")
    with pytest.raises(PathMissing, match="no Triton kernel"):
        named("w4a16").encoder("cuda", "triton")
    monkeypatch.setattr(paths, "missing", lambda device, path: "gone")
    with pytest.raises(PathMissing, match="native: gone; torch: gone"):
        form.encoder("cpu")


def test_paths_say_what_there_is_and_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "missing", paths.missing.__wrapped__)
    monkeypatch.setattr(paths, "find_spec", lambda name: None)
    assert paths.paths("cpu") == {"native": None, "torch": paths.NEEDS_TORCH}
    assert list(paths.paths("cuda")) == ["triton", "torch"]
