"""Every kernel compiles for SM90, SM120 and SM121 without a GPU, within SM120's limits, with the right tensor-core instruction."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels' environment is not here (make kernels)")

SHARED_LIMIT = 101_376  # bytes a block may have on SM120


@cache
def compiled(capability):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    script = Path(__file__).with_name("compile_kernels.py")
    done = subprocess.run([sys.executable, script, str(capability)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("capability", [90, 120, 121])
def test_no_kernel_spills_or_needs_more_shared_memory_than_sm120_has(capability):
    for kernel in compiled(capability):
        assert kernel["shared"] <= SHARED_LIMIT, kernel
        assert kernel["stack"] == kernel["STL"] == kernel["LDL"] == 0, kernel


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
    assert all(kernel["LDGSTS"] > 0 for kernel in compiled(capability) if kernel["kernel"].startswith("gemm"))
