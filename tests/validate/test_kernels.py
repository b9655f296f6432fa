"""The kernels probe: every (N, K) of the block-FP8 weights is held against the reference in a process of its own."""

from __future__ import annotations

import pytest
import tiny
from validating import h200

from hubrelease import suites, verify_release
from hubrelease.engines import EngineFault
from hubrelease.engines.sm120 import SM120
from hubrelease.probes import Session, kernels
from hubrelease.release import Release

SHAPES = [[128, 256], [256, 256]]


def session(tmp_path, device="cuda", base=None):
    def weight(n, k):
        return "F8_E4M3", [n, k], bytes(n * k)

    tensors = {}
    for name, (n, k) in {"a": (256, 256), "b": (128, 256), "c": (256, 256)}.items():
        tensors |= {f"{name}.weight": weight(n, k), f"{name}.weight_scale_inv": ("F32", [n // 128, k // 128], bytes(n * k // 4096))}
    tensors["d.weight"] = weight(128, 128)  # has no scale_inv: not of this format
    changes = {"model.safetensors": tiny.safetensors(tensors), "runtime/server/__main__.py": b"", "runtime/entrypoint.py": b""}
    root = tiny.release(tmp_path / "r", changes)
    release = Release(root, verify_release.check_folder(root))
    suite = suites.suite_of(suites.document_for(("decision",), {}, None), suites.default_picture)
    return Session(release, suite, SM120(release, device, base=base), device, h200(), ())


@pytest.fixture
def says(tmp_path, monkeypatch):
    """The check in its own process, put in place of the real one."""

    def put(program):
        script = tmp_path / "check.py"
        script.write_text(f"import json, sys\nshapes = json.loads(sys.argv[2])\n{program}\n")
        monkeypatch.setattr(kernels, "CHECK", script)

    return put


def test_each_shape_is_asked_once_and_gets_a_row(tmp_path, says):
    says('print(json.dumps({"backends": {"triton": [{"n": n, "k": k, "relativeError": 1e-3} for n, k in shapes]}}))')
    rows = list(kernels.run(session(tmp_path)))
    assert [row.name for row in rows] == ["kernel:triton:128x256", "kernel:triton:256x256"]
    assert {row.status for row in rows} == {"pass"}
    assert rows[0].limit["relativeError"] == {"max": 5e-3}


@pytest.mark.parametrize(
    ("row", "words"), [('{"relativeError": 0.5}', "more than 0.005"), ('{"refused": "RuntimeError: out is NaN"}', "out is NaN")]
)
def test_a_kernel_that_is_wrong_or_refuses_fails_its_shape(tmp_path, says, row, words):
    says(f'print(json.dumps({{"backends": {{"cutlass_sm120": [{{"n": n, "k": k, **{row}}} for n, k in shapes]}}}}))')
    rows = list(kernels.run(session(tmp_path)))
    assert {r.status for r in rows} == {"fail"}
    assert words in (rows[0].reason or "")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("sys.exit('no kernel image is available')", "no kernel image"),
        ("print('hello')", "could not be run"),
        ("print(json.dumps({'error': 'ImportError: triton'}))", "triton"),
    ],
)
def test_kernels_that_can_not_be_run_are_a_fault_that_is_told(tmp_path, says, program, words):
    says(program)
    with pytest.raises(EngineFault, match=words):
        list(kernels.run(session(tmp_path)))


@pytest.mark.parametrize(
    ("device", "base", "words"), [("cpu", None, "a CPU has no kernels"), ("cuda", "http://127.0.0.1:1", "do not run here")]
)
def test_it_says_why_there_is_nothing_to_run(tmp_path, device, base, words):
    assert words in str(kernels.skip(session(tmp_path, device, base)))


def test_a_release_without_block_fp8_has_no_such_kernels(tmp_path):
    made = session(tmp_path)
    assert kernels.shapes_of(made) == SHAPES
    tiny.release(tmp_path / "plain", {"runtime/server/__main__.py": b""})
    plain = Release(tmp_path / "plain", verify_release.check_folder(tmp_path / "plain"))
    assert "no weight" in str(kernels.skip(Session(plain, made.suite, SM120(plain, "cuda"), "cuda", h200(), ())))


def test_the_check_imports_nothing_of_ours():
    """It runs in a process in which only the release's own code should be."""
    assert "hubrelease" not in kernels.CHECK.read_text().split('"""', 2)[2]
