"""Compiles the four kernels of fla-core that the delta rule uses, in the sizes of runtime/kernels/fla_configs, for one capability.

compile_fla.py CAPABILITY prints JSON lines as compile_kernels.py does.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import triton
from compile_kernels import BF, CAPABILITY, F32, facts
from fla.ops.common.chunk_delta_h import chunk_gated_delta_rule_fwd_kernel_h_blockdim64
from fla.ops.common.chunk_o import chunk_fwd_kernel_o
from fla.ops.gated_delta_rule.chunk_fwd import chunk_gated_delta_rule_fwd_kkt_solve_kernel
from fla.ops.gated_delta_rule.wy_fast import recompute_w_u_fwd_kernel
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

CONFIGS = Path(__file__).parents[2] / "runtime/kernels/fla_configs"
SIZES = dict(H=16, HV=32, K=128, V=128, BT=64, BC=16, BK=64, BV=64, IS_VARLEN=False, USE_G=True, STATE_V_FIRST=False)
SIZES |= dict(USE_GK=False, USE_G_GAMMA=False, USE_INITIAL_STATE=False, STORE_FINAL_STATE=False, SAVE_NEW_VALUE=True)
POINTERS = dict.fromkeys(("q", "k", "v", "w", "u", "v_new", "h", "o", "A", "beta"), BF) | {"g": F32}
SCALARS = {"T": "i32", "scale": "fp32"}


def inner(kernel):
    """The function under its tuner and heuristics."""
    while not isinstance(kernel, triton.runtime.jit.JITFunction):
        kernel = kernel.fn
    return kernel


def main():
    family = CONFIGS / f"sm{CAPABILITY // 10}x"
    kernels = (chunk_gated_delta_rule_fwd_kernel_h_blockdim64, chunk_fwd_kernel_o, recompute_w_u_fwd_kernel,
               chunk_gated_delta_rule_fwd_kkt_solve_kernel)  # fmt: skip
    for kernel in map(inner, kernels):
        chosen = json.loads((family / f"{kernel.__name__}.json").read_text())["default_config"]
        known = POINTERS | SCALARS
        signature = {name: known.get(name, "constexpr") for name in kernel.arg_names}
        constants = {name: (SIZES | chosen["kwargs"]).get(name) for name, kind in signature.items() if kind == "constexpr"}
        attributes = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(kernel.arg_names) if name in POINTERS}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
        options = {key: chosen[key] for key in ("num_warps", "num_stages")}
        compiled = triton.compile(source, target=GPUTarget("cuda", CAPABILITY, 32), options=options)
        print(json.dumps({"kernel": kernel.__name__, **facts(compiled)}), flush=True)


if __name__ == "__main__":
    main()
