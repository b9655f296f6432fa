"""The CUTLASS entry: builds with nvcc for the SM120 family, exports its three functions, holds FP8 tensor-core code, refuses.

Needs nvcc 12.9 or later (on the PATH, or named in NVCC) and FlashInfer's headers: an installed flashinfer, or a folder with
`include` and `cutlass` in SM120_HEADERS. A library built before can be given in SM120_FP8_LIBRARY; building takes minutes and 4.6 GB.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy
ROOT = Path(__file__).parents[2]
BUILD = ROOT / "runtime/kernels/build_sm120.sh"
NVCC = os.environ.get("NVCC") or shutil.which("nvcc")


def headers():
    if "SM120_HEADERS" in os.environ:
        return Path(os.environ["SM120_HEADERS"])
    spec = importlib.util.find_spec("flashinfer")
    return Path(spec.origin).parent / "data" if spec and spec.origin else None


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "SM120_FP8_LIBRARY" in os.environ:
        return Path(os.environ["SM120_FP8_LIBRARY"])
    if NVCC is None or headers() is None:
        pytest.skip("nvcc or FlashInfer's headers are not here")
    version = re.search(r"release (\d+)\.(\d+)", subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True).stdout)
    if tuple(map(int, version.groups())) < (12, 9):
        pytest.skip("nvcc is older than 12.9: it has no compute_120f")
    out = tmp_path_factory.mktemp("cutlass") / "libsm120_fp8.so"
    subprocess.run(["sh", BUILD, out, headers()], check=True, capture_output=True, env={**os.environ, "NVCC": NVCC})
    return out


@pytest.fixture
def cutlass(library):
    from runtime.kernels import sm120_cutlass

    return lambda *arguments: sm120_cutlass.can_implement(*arguments, path=str(library))


@pytest.mark.parametrize(("n", "k"), [(12288, 2560), (10240, 2560), (2560, 4096), (18432, 2560), (2560, 9216), (128, 128)])
@pytest.mark.parametrize("m", [1, 3, 64, 65536])
def test_takes_every_linear_of_the_model(cutlass, m, n, k):
    assert cutlass(m, n, k) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((64, 32, 2560), "N is not a multiple of 128"),
        ((64, 2560, 4100), "K is not a multiple of 128"),
        ((0, 128, 128), "empty"),
        ((64, -128, 128), "empty"),
        ((64, 128, 128, (8, 0, 0)), "not aligned"),
        ((1 << 40, 128, 128), "31 bits"),
    ],
)
def test_refuses_what_the_kernel_would_silently_leave_undone(cutlass, arguments, words):
    assert words in cutlass(*arguments)


def test_the_launch_refuses_too_and_says_so(library):
    """The status comes back: nothing is thrown away. No GPU is needed for a refusal."""
    from runtime.kernels import sm120_cutlass

    gemm = sm120_cutlass.library(str(library)).hr_sm120_fp8_gemm
    assert sm120_cutlass.describe(gemm(16, 0, 16, 16, 16, 16, 16, 64, 100, 128, None)) == "N is not a multiple of 128"
    assert sm120_cutlass.describe(gemm(16, 0, None, 16, 16, 16, 16, 64, 128, 128, None)) == "a null pointer"


def test_exports_nothing_but_its_functions(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    ours = {line.split()[-1] for line in listed.splitlines() if " T " in line}
    assert {"hr_sm120_fp8_abi", "hr_sm120_fp8_can_implement", "hr_sm120_fp8_gemm"} <= ours
    assert not [name for name in ours if name.startswith("cu")]


def test_holds_fp8_tensor_core_code_for_the_family(library):
    triton = pytest.importorskip("triton", reason="Triton's cuobjdump is not here")
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    sass = subprocess.run([tool, "--dump-sass", library], capture_output=True, text=True, check=True).stdout
    assert re.search(r"arch = sm_120", sass)
    assert len(re.findall(r"QMMA\.16832\.F32\.E4M3\.E4M3", sass)) >= 64
    assert not re.search(r"\bHMMA\b", sass)


def test_a_missing_library_says_what_makes_it(tmp_path):
    from runtime.kernels import sm120_cutlass

    with pytest.raises(sm120_cutlass.CutlassError, match="build_sm120"):
        sm120_cutlass.library(str(tmp_path / "none.so"))
