#!/bin/sh
# Builds libsm120_fp8.so from sm120_entry.cu: build_sm120.sh OUT [HEADERS]
# HEADERS holds FlashInfer's `include` and `cutlass` folders as its wheel has them (flashinfer/data); without it they are
# taken from the installed flashinfer package. Needs nvcc 12.9 or later (the compute_120f family), about 4.6 GB of memory
# and one to three minutes. No GPU, no driver.
set -eu
out=$1
headers=${2:-$(python3 -c 'import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec("flashinfer").origin).parent / "data")')}
here=$(cd "$(dirname "$0")" && pwd)
exec "${NVCC:-nvcc}" -shared -O3 -std=c++17 --expt-relaxed-constexpr -DNDEBUG \
  -gencode=arch=compute_120f,code=sm_120f -Xcompiler=-fPIC,-fvisibility=hidden -cudart=static \
  -I "$headers/include" -I "$headers/cutlass/include" -I "$headers/cutlass/tools/util/include" \
  "$here/sm120_entry.cu" -o "$out"
