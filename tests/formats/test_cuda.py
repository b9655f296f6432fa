"""The Triton kernels give the bits of the CPU paths: interpreted where there is no GPU, compiled where there is one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from parity import HAS_TORCH, differing_bits, form_of, ours
from parity_tensors import SAMPLES, amax

from hubrelease.formats import Encoder, NotFinite, Strip

NAMES = ("fp8_block", "nvfp4a16", "modelopt_nvfp4")
HAS_GPU = False
if HAS_TORCH:
    import torch

    HAS_GPU = torch.cuda.is_available()
needs_triton = pytest.mark.skipif(not HAS_TORCH or find_spec("triton") is None, reason="torch or triton is not installed")
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="there is no CUDA device")


@pytest.fixture
def rounder(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A TritonEncoder of a format: on the GPU, or interpreted on the CPU."""
    if not HAS_GPU:
        os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are defined, once a process
    from hubrelease.arithmetic.cuda import TritonEncoder

    return lambda form: Encoder(form, TritonEncoder(form.kernel, "cuda" if HAS_GPU else "cpu"))


@needs_triton
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy tells of each division by zero
@pytest.mark.parametrize("name", NAMES)
def test_the_kernels_give_the_same_bits_and_sums(name: str, rounder: Any) -> None:
    form = form_of(name)
    encoder = rounder(form)
    for sample in SAMPLES:
        if sample.dtype == "BF16":
            shared = amax(sample) if form.needs_shared_amax else None
            done = encoder.encode(Strip(sample.data, sample.dtype, sample.rows, sample.columns), shared)
            parts, sums = ours(form, sample, "native")
            codes, scales = list(parts.values())[:2]
            assert (differing_bits(codes, bytes(done.codes)), differing_bits(scales, bytes(done.scales))) == (0, 0), sample.name
            assert done.sums == sums, sample.name


@needs_triton
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("rows", "columns"), [(1, 16), (5, 48), (3, 1040), (9, 2064)])
def test_rows_and_runs_may_be_cut_short(name: str, rows: int, columns: int, rounder: Any) -> None:
    form = form_of(name)
    if form.kernel.rows_of == 1:
        strip = Strip(SAMPLES[0].data[: 2 * rows * columns], "BF16", rows, columns)
        encoder, native = rounder(form), form.encoder("cpu", "native")
        shared = native.amax(strip)
        assert encoder.amax(strip) == shared
        a, b = encoder.encode(strip, shared), native.encode(strip, shared)
        assert (bytes(a.codes), bytes(a.scales), a.sums) == (bytes(b.codes), bytes(b.scales), b.sums)


@needs_triton
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_kernels_refuse_what_is_not_finite_or_too_large(name: str, rounder: Any) -> None:
    form = form_of(name)
    data = bytearray(SAMPLES[0].data)
    data[1000:1002] = b"\x80\x7f"
    with pytest.raises(NotFinite, match="infinity in row 1, column 244"):
        rounder(form).encode(Strip(data, "BF16", 128, 256), 1.0 if form.needs_shared_amax else None)
    if form.needs_shared_amax:
        with pytest.raises(ValueError, match="above the shared maximum"):
            rounder(form).encode(Strip(SAMPLES[0].data, "BF16", 128, 256), 0.001)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("name", ["fp8_block", "fp8_dynamic", "nvfp4a16", "modelopt_nvfp4", "w4a16", "w8a16"])
def test_plain_torch_gives_the_same_bits_on_cuda(name: str) -> None:
    form = form_of(name)
    for sample in SAMPLES:
        assert ours(form, sample, "torch", "cuda") == ours(form, sample, "torch"), sample.name


COMPILE = """
import re, sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from hubrelease.arithmetic import cuda

def ptx(kernel, pointers, integers, warps, **constants):
    signature = {**pointers, **dict.fromkeys(integers, "i32"), **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(fn=kernel, signature={name: signature[name] for name in kernel.arg_names}, constexprs=constants)
    return compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "enable_fp_fusion": False}).asm["ptx"]

out = {"scales": "*fp32", "errors": "*i64", "sources": "*i64", "largest": "*fp32", "amaxes": "*i32", "x": "*i16", "codes": "*u8"}
print(ptx(cuda.fp8_block_kernel, out, ["columns"], 8, HARDWARE=True, MEASURE=True))
for divides in (True, False):
    more = {**out, "scales": "*u8", "shared": "*fp32", "steps": "*fp32"}
    print(ptx(cuda.nvfp4_kernel, more, ["rows", "groups"], 1, DIVIDES=divides, ROWS=cuda.ROWS, GROUPS=cuda.GROUPS, FAST=True, MEASURE=True))
"""


@needs_triton
def test_compiled_kernels_divide_round_and_keep_subnormals_as_ieee_says() -> None:
    """Their PTX for compute capability 9.0, which needs no GPU: nothing approximate, nothing flushed, and no fused
    multiply-add but the two of each number's quick division."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    kernels = done.stdout.split(".visible .entry")[1:]
    assert len(kernels) == 3
    for text, fused in zip(kernels, (0, 64, 64), strict=True):
        operations = re.findall(r"^\s+(?:@%\w+ )?([a-z]\w*(?:\.\w+)*)", text, flags=re.MULTILINE)
        assert not [name for name in operations if "ftz" in name or "approx" in name or name.startswith(("div.full", "rcp"))]
        assert len([name for name in operations if name.startswith("fma")]) == fused
        assert any(name == "div.rn.f32" for name in operations)
