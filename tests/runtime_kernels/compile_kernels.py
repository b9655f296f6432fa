"""Compiles every kernel in every size that the runtime launches, for one capability, and prints what came out as JSON lines.

Run without TRITON_INTERPRET. No GPU, no torch needed beyond the modules' own import.
    compile_kernels.py CAPABILITY [ONLY]
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from runtime.kernels import sm89_fp8_block_gemm, sm90_fp8_block_gemm, smxx_bf16_attention, smxx_bf16_delta
from runtime.kernels.sm89_fp8_act_quant import act_quant_kernel
from runtime.kernels.sm89_fp8_norm_quant import LORA_SIZES, add_norm_kernel, swiglu_kernel, swiglu_lora_kernel

TOOL = glob.glob(os.path.join(os.path.dirname(triton.__file__), "backends/nvidia/bin/cuobjdump"))[0]
CAPABILITY = int(sys.argv[1])
F8, BF, F32 = "*fp8e4nv", "*bf16", "*fp32"


def tile(rows):
    """The type of a descriptor of tiles of codes."""
    return f"tensordesc<fp8e4nv[{rows},128]>"


def jobs():
    """(label, kernel, pointer types, scalar arguments, constants, options). Scalars whose name ends in ! divide by 16."""
    for groups, warps in ((16, 4), (64, 8)):
        yield (
            f"act_quant {groups}",
            act_quant_kernel,
            dict(x_ptr=BF, q_ptr=F8, s_ptr=F32),
            ["groups"],
            dict(GROUPS=groups),
            dict(num_warps=warps),
        )
    pointers = dict(as_ptr=F32, bs_ptr=F32, d_ptr=BF, t_ptr=BF, up_ptr=BF)
    scalars = ["M", "N!", "K!", "as_block!", "t_stride!", "first_end!", "second_end!"]
    gemm = sm90_fp8_block_gemm if CAPABILITY == 90 else sm89_fp8_block_gemm
    kernel = gemm.fp8_block_gemm_tma_kernel if CAPABILITY == 90 else gemm.fp8_block_gemm_kernel
    for sizes in sorted({sizes for _, _, sizes in gemm.TABLE}, key=str):
        operands = dict(a=tile(sizes.bm), b=tile(sizes.bn)) if CAPABILITY == 90 else dict(a_ptr=F8, b_ptr=F8)
        for rank in (0, 64):
            types = operands | pointers | (dict(d_ptr=F32) if sizes.splits > 1 else {})
            constants = dict(BM=sizes.bm, BN=sizes.bn, SPLITS=sizes.splits, RANK=rank, GROUP_M=8, as_row=1)
            options = dict(num_warps=sizes.warps, num_stages=sizes.stages)
            if sizes.registers:
                options["maxnreg"] = sizes.registers
            yield f"gemm rank={rank} {sizes}", kernel, types, scalars, constants, options
    pointers = dict(y_ptr=BF, h_ptr=BF, w_ptr=BF, h_out_ptr=BF, x_ptr=BF, q_ptr=F8, s_ptr=F32)
    for parts in (0, 1, 4):
        types = pointers | (dict(y_ptr=F32) if parts > 1 else {})
        yield (
            f"add_norm parts={parts}",
            add_norm_kernel,
            types,
            ["M", "N!", "s_group!", "eps"],
            dict(PARTS=parts, FIRST=16, REST=4, QUANT=True, s_row=1),
            dict(num_warps=8),
        )
    pointers = dict(y_ptr=BF, x_ptr=BF, q_ptr=F8, s_ptr=F32)
    for groups in (8, 16):
        yield f"swiglu {groups}", swiglu_kernel, pointers, ["N!", "s_group!"], dict(GROUPS=groups, QUANT=True, s_row=1), dict(num_warps=4)
    pointers = dict(y_ptr=BF, t_ptr=BF, up_ptr=BF, x_ptr=BF, q_ptr=F8, s_ptr=F32)
    constants = dict(ROWS=LORA_SIZES[0], RANK=64, QUANT=True, s_row=1)
    yield "swiglu_lora", swiglu_lora_kernel, pointers, ["M", "N!", "t_stride!", "s_group!"], constants, dict(num_warps=LORA_SIZES[1])
    pointers = dict(y_ptr=BF, w_ptr=BF, ab_ptr=BF, a_log_ptr=F32, bias_ptr=BF, q_ptr=BF, k_ptr=BF, v_ptr=BF, g_ptr=F32, beta_ptr=BF)
    constants = dict(KH=16, VH=32, D=128, TAPS=4, BT=smxx_bf16_delta.TOKENS, VH2=32, SUM=True)
    yield (
        "delta_inputs",
        smxx_bf16_delta.delta_inputs_kernel,
        pointers,
        ["T", "y_stride!", "ab_stride!", "scale"],
        constants,
        dict(num_warps=4),
    )
    pointers = dict(o_ptr=BF, z_ptr=BF, w_ptr=F32, x_ptr=BF, q_ptr=F8, s_ptr=F32)
    for rows, warps in ((4, 2), (16, 4)):
        constants = dict(ROWS=rows, D=128, QUANT=True, s_row=1)
        yield (
            f"gated_norm {rows}",
            smxx_bf16_delta.gated_norm_kernel,
            pointers,
            ["M", "z_stride!", "N!", "s_group!", "eps"],
            constants,
            dict(num_warps=warps),
        )
        constants = dict(ROWS=rows, D=256, QUANT=True, s_row=1)
        types = dict(o_ptr=BF, y_ptr=BF, x_ptr=BF, q_ptr=F8, s_ptr=F32)
        yield (
            f"sigmoid_gate {rows}",
            smxx_bf16_attention.sigmoid_gate_kernel,
            types,
            ["M", "y_stride!", "N!", "s_group!"],
            constants,
            dict(num_warps=warps),
        )
    pointers = dict(y_ptr=BF, qw_ptr=BF, kw_ptr=BF, table_ptr=BF, q_ptr=BF, k_ptr=BF)
    yield ("head_norm_rotary", smxx_bf16_attention.head_norm_rotary_kernel, pointers, ["M", "y_stride!", "eps"],
           dict(QH=16, KH=4, D=256, HALF=32), dict(num_warps=1))  # fmt: skip


def build(kernel, pointers, scalars, constants, capability, options):
    """The compiled kernel. Divisibility is declared as the launcher finds it: without it loads aren't vectorised."""
    types = pointers | {name.rstrip("!"): "fp32" if name in ("eps", "scale") else "i32" for name in scalars}
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    sixteen = [*(name for name, kind in pointers.items() if kind[0] == "*"), *(name[:-1] for name in scalars if name.endswith("!"))]
    attributes = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in sixteen}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def facts(compiled):
    """Shared memory, registers, stack and the counted instructions."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.asm["cubin"])
        file.flush()
        usage = subprocess.run([TOOL, "--dump-resource-usage", file.name], capture_output=True, text=True, check=True).stdout
        sass = subprocess.run([TOOL, "--dump-sass", file.name], capture_output=True, text=True, check=True).stdout
    count = {name: len(re.findall(rf"\b{name}\b", sass)) for name in ("QMMA", "QGMMA", "HMMA", "HGMMA", "STL", "LDL", "LDGSTS", "UTMALDG")}
    registers, stack = re.search(r"REG:(\d+) STACK:(\d+)", usage).groups()
    return {"shared": compiled.metadata.shared, "registers": int(registers), "stack": int(stack), **count}


def main():
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for label, kernel, *rest, options in jobs():
        if only in label:
            print(json.dumps({"kernel": label, **facts(build(kernel, *rest, CAPABILITY, options))}), flush=True)


if __name__ == "__main__":
    main()
