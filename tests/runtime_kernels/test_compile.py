"""Every kernel compiles for SM90, SM120 and SM121 without a GPU, within SM120's limits, with the right tensor-core instruction."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels' environment is not here (make kernels)")

pytestmark = pytest.mark.heavy
SHARED_LIMITS = {90: 232_448, 120: 101_376, 121: 101_376}  # bytes a block may have


@cache
def compiled(capability, script="compile_kernels.py", path=""):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"} | {"PYTHONPATH": path}
    script = Path(__file__).with_name(script)
    done = subprocess.run([sys.executable, script, str(capability)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("capability", [90, 120, 121])
def test_no_kernel_spills_or_needs_more_shared_memory_than_there_is(capability):
    for kernel in compiled(capability):
        assert kernel["shared"] <= SHARED_LIMITS[capability], kernel
        assert kernel["stack"] == 0, kernel


@pytest.mark.parametrize(("capability", "instruction", "wider"), [(90, "QGMMA", "HGMMA"), (120, "QMMA", "HMMA"), (121, "QMMA", "HMMA")])
def test_the_gemm_multiplies_in_fp8(capability, instruction, wider):
    gemms = [kernel for kernel in compiled(capability) if kernel["kernel"].startswith("gemm")]
    assert gemms
    for kernel in gemms:
        assert kernel[instruction] > 0, kernel
        assert (kernel[wider] > 0) == ("rank=64" in kernel["kernel"]), kernel  # BF16 in the adapter's tail alone


@pytest.mark.parametrize("capability", [90, 120, 121])
def test_the_gemm_is_pipelined(capability):
    """Without the divisibility attributes loads don't become asynchronous copies, and the limits above prove nothing."""
    copy = "UTMALDG" if capability == 90 else "LDGSTS"
    assert all(kernel[copy] > 0 for kernel in compiled(capability) if kernel["kernel"].startswith("gemm"))


@pytest.mark.parametrize(("capability", "limit"), SHARED_LIMITS.items())
def test_the_shipped_sizes_of_fla_fit(capability, limit):
    """fla-core's own kernels: its spills are its own affair, a size that doesn't launch would be ours."""
    folder = Path(os.environ.get("FLA_FOLDER", Path(sys.prefix, "fla")))
    if not folder.is_dir():
        pytest.skip("fla-core is not here (make kernels)")
    kernels = compiled(capability, "compile_fla.py", str(folder))
    assert len(kernels) == 4
    assert all(kernel["shared"] <= limit for kernel in kernels), kernels
