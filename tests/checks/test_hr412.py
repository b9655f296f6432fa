from __future__ import annotations

import pytest
from meaning import judged, one

from hubrelease.capabilities import targets, uncovered

FROM = "FROM registry.example/runtime@sha256:" + "a1" * 32 + "\n"
PROVENANCE = "MODEL_PROVENANCE.json"


def runtime(promised, archs=None):
    return {"runtime": {"kind": "verify", "compute_capabilities": promised} | ({"cuda_archs": archs} if archs is not None else {})}


@pytest.mark.parametrize("line", [
    'ENV TORCH_CUDA_ARCH_LIST="8.0;9.0"', "ENV TORCH_CUDA_ARCH_LIST 8.0 9.0", "ARG TORCH_CUDA_ARCH_LIST='8.0 9.0a'", "RUN TORCH_CUDA_ARCH_LIST=8.0;9.0 pip list",
    "ENV X=1 TORCH_CUDA_ARCH_LIST=Hopper\nENV TORCH_CUDA_ARCH_LIST=9.0", "RUN cmake -DCMAKE_CUDA_ARCHITECTURES='80-real;90-real' .", "RUN nvcc -gencode arch=compute_90,code=sm_90 x.cu",
])  # fmt: skip
def test_bad_in_a_dockerfile(tmp_path, line):
    found = one(tmp_path, {"Dockerfile": (FROM + line + "\n").encode()}, runtime(["9.0", "12.0"]))
    assert (found.kind, found.severity, found.where.file) == ("arch-mismatch", "error", "Dockerfile")
    assert "12.0" in found.message


@pytest.mark.parametrize("archs", [["8.0", "9.0"], ["sm_90a"], ["12.0a"], ["10.0f"], ["compute_90a"], ["120a"]])
def test_bad_in_the_spec(tmp_path, archs):
    found = one(tmp_path, spec=runtime(["12.1"], archs))
    assert (found.kind, found.severity, found.where.file) == ("arch-mismatch", "error", PROVENANCE)


@pytest.mark.parametrize(
    "archs",
    [
        ["12.0"],
        ["12.1"],
        ["12.0f"],
        ["compute_120f"],
        ["sm_120f"],
        ["9.0+PTX"],
        ["compute_90"],
        ["8.0", "12.0a", "12.1a"],
        ["Blackwell"],
        ["all"],
        ["native"],
        [],
    ],
)
def test_good_covered_or_undecided(tmp_path, archs):
    assert judged(tmp_path, spec=runtime(["12.1"], archs)) == []


def test_good_nothing_is_promised(tmp_path):
    assert judged(tmp_path, {"Dockerfile": (FROM + "ENV TORCH_CUDA_ARCH_LIST=8.0\n").encode()}) == []


@pytest.mark.parametrize(("archs", "runs", "fails"), [
    ("8.0", ["8.0", "8.6", "8.9"], ["9.0", "7.5"]), ("8.6", ["8.6", "8.9"], ["8.0"]), ("9.0a", ["9.0"], ["10.0"]), ("10.0f", ["10.0", "10.3"], ["11.0", "12.0"]), ("12.0f", ["12.0", "12.1"], ["10.0"]),
    ("9.0+PTX", ["9.0", "12.1"], ["8.0"]), ("compute_120", ["12.0", "12.1"], ["10.0"]), ("12.1", ["12.1"], ["12.0"]),
])  # fmt: skip
def test_good_rules_of_nvidia(archs, runs, fails):
    assert uncovered(runs + fails, targets(archs) or []) == fails


@pytest.mark.parametrize("values", [None, "12.0", [12.0], ["x"], {"a": 1}])
def test_good_other_forms(tmp_path, values):
    assert judged(tmp_path, spec={"runtime": {"compute_capabilities": values, "cuda_archs": values}}) == []
