#!/usr/bin/env python3
"""Measures the decision runtime on a GPU with a full-size Qwen3.5-4B of random weights: python bench/sm120_runtime.py OUT.json

Parts (all by default; name some to run those alone): check, quantiser, gemm, sweep, forward, request, fla. Each figure is a
median of GPU events over graph replays where a graph can be made, buffers rotated so that the cache doesn't serve them. Says what it is
compared with in the same run. Figures of this script are for the GPU that it ran on, never for another.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import statistics
import sys
import time
from itertools import product
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from runtime.engine.adapter import Adapter
from runtime.engine.config import TextConfig
from runtime.engine.graphs import Graphs
from runtime.engine.load import linear_shapes
from runtime.engine.model import build
from runtime.kernels import dispatch, linear, linear_backends, reference
from runtime.kernels.product import Product
from runtime.kernels.sm89_fp8_act_quant import act_quant
from runtime.kernels.sm89_fp8_norm_quant import add_norm, swiglu

DEVICE = torch.device("cuda")
CAPABILITY = torch.cuda.get_device_capability()
OURS = "triton_sm90" if CAPABILITY[0] == 9 else "triton"
block_gemm = importlib.import_module(f"runtime.kernels.{'sm90' if CAPABILITY[0] == 9 else 'sm89'}_fp8_block_gemm")
C4B = TextConfig(
    hidden=2560, intermediate=9216, layers=tuple("linear_attention" if (i + 1) % 4 else "full_attention" for i in range(32)),
    heads=16, kv_heads=4, head_dim=256, key_heads=16, value_heads=32, delta_dim=128, taps=4, vocabulary=248320, eps=1e-6,
    rope_theta=1e7, rotated=64, sections=(11, 11, 10), max_positions=262144,
)  # fmt: skip
GROUPS = ((12288, 2560, 24), (10240, 2560, 8), (2560, 4096, 32), (18432, 2560, 32), (2560, 9216, 32))  # N, K, how many
SEPARATE = ((8192, 2560, 32), (4096, 2560, 24), (1024, 2560, 16), (2560, 4096, 32), (9216, 2560, 64), (2560, 9216, 32))
RECEIPT: dict = {}


def timed(call, repeats=20, inner=1):
    """Median milliseconds of `call`, captured in a graph of `inner` calls."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(inner):
            call()
    return replayed(graph.replay, repeats) / inner


def replayed(call, repeats=20):
    """Median milliseconds of a call that launches by itself."""
    call()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def block_fp8(weight):
    """(codes, scales) of a matrix, as the format's conversion makes them."""
    rows, columns = weight.shape[0] // 128, weight.shape[1] // 128
    blocks = weight.float().view(rows, 128, columns, 128)
    scale = blocks.abs().amax((1, 3)) / 448.0
    return (blocks / scale[:, None, :, None]).view(weight.shape).to(torch.float8_e4m3fn), scale


class RandomCheckpoint:
    """Stands for load.Checkpoint: tensors are made on the GPU when they are asked for, the same for the same name."""

    device = DEVICE

    def __init__(self, fp8):
        self.fp8 = fp8

    def get(self, name, shape):
        generator = torch.Generator(device=DEVICE).manual_seed(hash_of(name))
        value = torch.randn(shape, generator=generator, device=DEVICE, dtype=torch.float32)
        if name.endswith("A_log"):
            return value.abs()
        if name.endswith(("q_norm.weight", "k_norm.weight")):
            return (value * 0.1 - 0.75).to(torch.bfloat16)  # 1 + weight: mild attention, as trained models have
        scale = 0.1 if "norm" in name else 0.5 if "conv1d" in name else 1.0 if name.endswith(("dt_bias", "embed_tokens.weight")) else None
        value = value * (shape[-1] ** -0.5 * step_of(name) if scale is None else scale) + (1.0 if "linear_attn.norm" in name else 0.0)
        return value if "linear_attn.norm" in name else value.to(torch.bfloat16)

    def linear(self, module, shape, dtype):
        weight = self.get(f"{module}.weight", shape).to(dtype)
        return block_fp8(weight) if self.fp8 else (weight, None)


def step_of(name):
    """How much a layer adds to the stream: a tenth, since at full size random layers amplify one rounding to another answer."""
    return 0.1 if name.rpartition(".weight")[0].endswith(("o_proj", "out_proj", "down_proj")) else 1.0


def hash_of(name):
    """A seed from a name, the same in every process."""
    import zlib

    return zlib.crc32(name.encode())


def random_adapter(rank=64, seed=5):
    """LoRA matrices for all 200 linears, on the GPU in FP32."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    tensors = {}
    for i, kind in enumerate(C4B.layers):
        for name, (rows, columns) in linear_shapes(C4B, kind).items():
            module = f"model.language_model.layers.{i}.{name}"
            tensors[module, "A"] = torch.randn(rank, columns, generator=generator, device=DEVICE) * columns**-0.5
            tensors[module, "B"] = torch.randn(rows, rank, generator=generator, device=DEVICE) * 0.02 * step_of(module + ".weight")
    return Adapter({"r": rank, "lora_alpha": 2 * rank}, tensors)


def model(fp8, backend="auto", adapter=True):
    """The language model with its adapter."""
    started = time.time()
    backend = os.environ.get("RUNTIME_BACKEND", backend)
    made = build(C4B, RandomCheckpoint(fp8), random_adapter() if adapter else None, backend, torch.bfloat16)
    torch.cuda.synchronize()
    print(f"built {'fp8' if fp8 else 'bf16'} in {time.time() - started:.1f} s", made.plan.describe() if made.plan else "", flush=True)
    return made


def check():
    """Every fused kernel against the plain operation on this GPU, at the model's sizes."""
    fast, plain = dispatch.operations(torch.cuda.get_device_capability()), dispatch.operations(None)
    torch.manual_seed(0)
    new = lambda *shape: torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16)  # noqa: E731
    result = {}

    def compare(name, got, want):
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            if a is None:
                continue
            a, b = a.float(), b.float()
            result[f"{name}[{i}]"] = ((a - b).norm() / b.norm()).item()

    for m in (64, 333):
        x = new(m, 9216) * 3
        a, b = act_quant(x), reference.act_quant(x)
        result[f"act_quant differing codes, M={m}"] = (a[0].view(torch.uint8) != b[0].view(torch.uint8)).sum().item()
        result[f"act_quant differing scales, M={m}"] = (a[1] != b[1]).sum().item()
        args = (torch.randn(4, m, 2560, device=DEVICE), new(m, 2560), new(2560) * 0.1, 1e-6, True)
        compare("add_norm", fast.add_norm(*args), plain.add_norm(*args))
        compare("swiglu", fast.swiglu(y := new(m, 18432), None, True), plain.swiglu(y, None, True))
        pending = (new(m, 128), new(18432, 64))
        compare("swiglu_lora", fast.swiglu(y, pending, True), plain.swiglu(y, pending, True))
        mixed, ab, conv = new(m, 12288), new(m, 64), new(8192, 4)
        args = (mixed, ab, conv, torch.rand(32, device=DEVICE), new(32), (1, m), (16, 32), 128)
        scale = 1 / 0.6931471805599453
        fast_in, plain_in = fast.delta_inputs(*args, scale), plain.delta_inputs(*args, None)
        compare("delta_inputs", fast_in[:3] + fast_in[4:], plain_in[:3] + plain_in[4:])
        compare("delta_rule", [fast.delta_rule(*fast_in)], [plain.delta_rule(*plain_in)])
        args = (new(m, 32, 128), mixed[:, 8192:], new(128).float(), 1e-6, True)
        compare("gated_norm", fast.gated_norm(*args), plain.gated_norm(*args))
        mixed, half = new(m, 10240), 32
        table = reference.rotary_table(torch.arange(m, device=DEVICE).expand(3, -1), 1e7 ** -(torch.arange(half, device=DEVICE) / half),
                                       torch.zeros(half, dtype=torch.long, device=DEVICE), torch.bfloat16)  # fmt: skip
        args = (mixed, new(256) * 0.1, new(256) * 0.1, table, (16, 4), 1e-6)
        compare("head_norm_rotary", fast.head_norm_rotary(*args), plain.head_norm_rotary(*args))
        compare("sigmoid_gate", fast.sigmoid_gate(y := new(m, 4096), mixed, 256, True), plain.sigmoid_gate(y, mixed, 256, True))
    return result


def quantiser():
    """GB/s against a copy, and microseconds at small sizes."""
    result = {}
    for m, k in ((64, 2560), (256, 2560), (256, 9216), (1024, 2560), (4096, 2560), (8192, 2560), (16384, 2560), (16384, 9216)):
        sets = [torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16) for _ in range(max(1, min(8, (256 << 20) // (m * k * 2))))]
        outs = [torch.empty_like(x) for x in sets]
        ms = timed(lambda sets=sets: [act_quant(x) for x in sets]) / len(sets)
        copy = timed(lambda sets=sets, outs=outs: [o.copy_(x) for x, o in zip(sets, outs, strict=True)]) / len(sets)
        size = m * k * (2 + 1) + m * k // 128 * 4
        result[f"{m}x{k}"] = {"us": ms * 1e3, "gbPerS": size / ms / 1e6, "copyGbPerS": m * k * 4 / copy / 1e6,
                              "ofCopy": (size / ms) / (m * k * 4 / copy)}  # fmt: skip
        print("quant", m, k, {key: round(v, 3) for key, v in result[f"{m}x{k}"].items()}, flush=True)
    return result


def gemm_inputs(m, n, k, copies):
    """Activations and so many different weights, so that they come from memory."""
    x = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16)
    weights = [torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16) * k**-0.5 for _ in range(copies)]
    return x, weights, [block_fp8(w) for w in weights]


@functools.cache
def unit_scale():
    """A scale of one on the GPU."""
    return torch.ones((), device=DEVICE)


def tensor_wise(codes, weight):
    """torch's FP8 product with one scale a tensor: the ceiling."""
    return torch._scaled_mm(codes, weight.t(), unit_scale(), unit_scale(), out_dtype=torch.bfloat16)


FP8_NAMES = {OURS: "triton", **({"torch_sm90": "torchSm90"} if CAPABILITY[0] == 9 else {})}  # backend → its name in the receipt


def gemm():
    """Summed over the model's linears: ours with the quantiser against BF16, torch's block-scaled and tensor-wise products."""
    result, plan = {}, linear.Plan(tuple((step, None) for step in linear.candidates("auto", CAPABILITY)[0]))
    for m in (16, 64, 128, 256, 512, 768, 1024, 2048, 4096, 16384):
        row, shapes = dict.fromkeys(("bf16Separate", "bf16Grouped", *FP8_NAMES.values(), "auto", "tensorWise", "quantiser"), 0.0), {}
        for n, k, count in GROUPS:
            copies = max(1, min(6, (160 << 20) // (n * k)))
            x, weights, fp8 = gemm_inputs(m, n, k, copies)
            codes, scale = act_quant(x)
            scale = scale.t().contiguous().t()  # as the fused kernels write it
            calls = {
                "bf16Grouped": lambda weights=weights, x=x: [x @ w.t() for w in weights],
                "tensorWise": lambda fp8=fp8, c=codes: [tensor_wise(c, w) for w, _ in fp8],
                "quantiser": lambda x=x, copies=copies: [act_quant(x) for _ in range(copies)],
            }
            for backend, name in FP8_NAMES.items():
                product = getattr(linear_backends, backend)
                calls[name] = lambda fp8=fp8, c=codes, s=scale, product=product: [
                    product(Product(c, s, w, ws, partial=True)) for w, ws in fp8
                ]
            shapes[f"{n}x{k}"] = {name: timed(call) / copies * 1e3 for name, call in calls.items()}
            row["auto"] += shapes[f"{n}x{k}"][FP8_NAMES[plan.pick(m, n)[0]]] * count / 1e3
            for name, us in shapes[f"{n}x{k}"].items():
                row[name] += us * count / 1e3
            linear_backends._columns.clear()
        for n, k, count in SEPARATE:
            copies = max(1, min(6, (160 << 20) // (n * k)))
            x, weights, _ = gemm_inputs(m, n, k, copies)
            row["bf16Separate"] += timed(lambda weights=weights, x=x: [x @ w.t() for w in weights]) / copies * count
        row["auto"] += row["quantiser"]
        row["autoOverBf16"] = row["bf16Separate"] / row["auto"]
        result[str(m)] = {"sumMs": row, "us": shapes}
        print("gemm", m, {key: round(v, 3) for key, v in row.items()}, flush=True)
    return result


def sweep_sizes(m, n):
    """The tile sizes worth timing for an output of m x n."""
    for bm, bn, splits, stages in product((64, 128), (64, 128), (1, 2, 4), (3, 4, 5, 6)):
        tiles = -(-m // bm) * -(-n // bn) * splits
        room = 220_000 if CAPABILITY[0] == 9 else 101_376
        if 60 <= tiles <= 1400 and (n <= 4096 or splits == 1) and (bm == 64 or m > 128) and (bm + bn) * 128 * stages <= room:
            for warps in (4, 8) if bm == 128 else (4,):
                yield from (
                    block_gemm.Sizes(bm, bn, splits, warps, stages, registers) for registers in ((None, 168) if warps == 4 else (None,))
                )


SWEPT = tuple(map(int, os.environ.get("SWEPT", "64,128,256,512,1024").split(",")))


def compile_sweep():
    """Compiles every k-th size of the sweep: run this in several processes first, K of N in COMPILE_SLICE."""
    own, of = map(int, os.environ["COMPILE_SLICE"].split("/"))
    distinct = sorted({sizes for m in SWEPT for n, _, _ in GROUPS for sizes in sweep_sizes(m, n)}, key=str)
    codes, scale = act_quant(torch.randn(128, 512, device=DEVICE, dtype=torch.bfloat16))
    weight = block_fp8(torch.randn(256, 512, device=DEVICE, dtype=torch.bfloat16))
    adapter = adapter_inputs(128, 256)
    for sizes in distinct[own::of]:
        block_gemm.fp8_block_gemm(Product(codes, scale, *weight, partial=True, **adapter), sizes)
    return len(distinct[own::of])


def adapter_inputs(m, n):
    """t and up of a rank-64 adapter in three parts."""
    t, up = (torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16) for shape in ((m, 192), (n, 64)))
    return {"t": t, "up": up, "ends": (n // 3 // 128 * 128, n // 3 * 2 // 128 * 128)}


def sweep():
    """Tile sizes at the rows that matter, the adapter's tail included."""
    result = {}
    for m in SWEPT:
        for n, k, _ in GROUPS:
            copies = max(1, min(6, (160 << 20) // (n * k)))
            x, _, fp8 = gemm_inputs(m, n, k, copies)
            codes, scale = act_quant(x)
            scale = scale.t().contiguous().t()
            found, adapter = [], adapter_inputs(m, n)
            for sizes in sweep_sizes(m, n):

                def call(sizes=sizes, codes=codes, scale=scale, fp8=fp8, adapter=adapter):
                    return [block_gemm.fp8_block_gemm(Product(codes, scale, w, ws, partial=True, **adapter), sizes) for w, ws in fp8]

                found.append((timed(call, 5) / copies * 1e3, sizes))
            found.sort(key=lambda pair: pair[0])
            result[f"{m} {n}x{k}"] = [(us, str(sizes)) for us, sizes in found[:6]]
            best = [(round(us, 1), s.bm, s.bn, s.splits, s.warps, s.stages, s.registers) for us, s in found[:4]]
            print("sweep", m, n, k, best, flush=True)
    return result


def small():
    """Warps of the norm kernel, groups and warps of the quantiser."""
    result = {}
    for m in (1024, 4096):
        y, pending = torch.randn(m, 18432, device=DEVICE, dtype=torch.bfloat16), tuple(adapter_inputs(m, 18432).values())[:2]
        result[f"swiglu_lora {m}"] = {
            str(sizes): timed(lambda y=y, p=pending, s=sizes: [swiglu(y, p, True, s) for _ in range(4)]) / 4 * 1e3
            for sizes in ((16, 2), (16, 4), (32, 2), (32, 4), (32, 8), (64, 4), (64, 8), (128, 8))
        }
        print("swiglu_lora rows, warps", m, result[f"swiglu_lora {m}"], flush=True)
    for m, parts in ((64, 4), (256, 4), (1024, 1), (4096, 1)):
        y = torch.randn(*((parts, m, 2560) if parts > 1 else (m, 2560)), device=DEVICE)
        y, h, w = (
            y if parts > 1 else y.to(torch.bfloat16),
            torch.randn(m, 2560, device=DEVICE, dtype=torch.bfloat16),
            torch.randn(2560, device=DEVICE),
        )
        result[f"add_norm {m}"] = {
            str(warps): timed(lambda y=y, h=h, w=w, n=warps: [add_norm(y, h, w, 1e-6, True, n) for _ in range(8)]) / 8 * 1e3
            for warps in (2, 4, 8, 16)
        }
        print("add_norm warps", m, parts, result[f"add_norm {m}"], flush=True)
    for m, k in ((256, 2560), (256, 9216), (8192, 2560), (16384, 2560)):
        xs = [torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16) for _ in range(max(1, min(8, (256 << 20) // (m * k * 2))))]
        times = {
            f"{groups},{warps}": timed(lambda xs=xs, s=(groups, warps): [act_quant(x, s) for x in xs]) / len(xs) * 1e3
            for groups, warps in ((8, 2), (8, 4), (16, 4), (16, 2), (32, 4), (32, 8), (64, 4), (64, 8), (128, 8))
        }
        result[f"quantiser {m}x{k}"] = times
        print("quantiser sizes", m, k, {key: round(us, 2) for key, us in times.items()}, flush=True)
    return result


def prompt(made, tokens, batch=1, seed=0):
    """Random (embeds, positions, last)."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    ids = torch.randint(0, 248000, (batch, tokens), device=DEVICE, generator=generator)
    positions = torch.arange(tokens, device=DEVICE).expand(3, batch, tokens)
    return made.embed(ids).view(batch, tokens, -1), positions, torch.full((batch,), tokens - 1, device=DEVICE)


def eager(made, embeds, positions, last):
    """The forward without a graph."""
    batch, tokens = embeds.shape[:2]
    rows = last + torch.arange(batch, device=DEVICE) * tokens
    return made.forward(embeds.flatten(0, 1), positions.flatten(1), (batch, tokens), rows)


def forward_of(made, label):
    """Times at four lengths, eager and as a graph, and whether both give the same bits."""
    result = {}
    graphs = Graphs(made)
    for tokens in (4096, 1024, 256, 64):
        arguments = prompt(made, tokens)
        want = eager(made, *arguments)
        graphs.capture(1, tokens)
        got = graphs.run(*arguments)
        result[str(tokens)] = {
            "eagerMs": replayed(lambda a=arguments: eager(made, *a), 7),
            "graphMs": replayed(graphs.captured[1, tokens][0].replay, 15),
            "sameBits": torch.equal(want, got),
            "finite": bool(want.isfinite().all()),
        }
        print("forward", label, tokens, result[str(tokens)], flush=True)
    return result, graphs


def profile(made, tokens):
    """Microseconds by kernel of one eager forward."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recorded

    arguments = prompt(made, tokens)
    eager(made, *arguments)
    with recorded(activities=[ProfilerActivity.CUDA]) as run:
        eager(made, *arguments)
        torch.cuda.synchronize()
    rows = sorted(((e.key[:60], round(e.device_time_total, 1), e.count) for e in run.key_averages()), key=lambda row: -row[1])[:22]
    for row in rows:
        print("profile", tokens, *row, flush=True)
    return rows


def forward():
    """FP8 and our own BF16, with the adapter, and FP8 without it."""
    result = {}
    made = model(True)
    result["plan"] = made.plan.describe()
    result["fp8"], _ = forward_of(made, "fp8")
    result["profile"] = {str(tokens): profile(made, tokens) for tokens in (256, 4096)}
    fp8_states = {tokens: eager(made, *prompt(made, tokens)) for tokens in (64, 1024)}
    del made
    linear_backends._columns.clear()
    torch.cuda.empty_cache()
    made = model(False)
    result["bf16"], _ = forward_of(made, "bf16")
    result["stateDifference"] = {
        str(tokens): ((state.float() - (b := eager(made, *prompt(made, tokens)).float())).norm() / b.norm()).item()
        for tokens, state in fp8_states.items()
    }
    print("fp8 against bf16, relative difference of the last state", result["stateDifference"], flush=True)
    del made
    torch.cuda.empty_cache()
    return result


def request():
    """Four rotations of a prompt: eager, graph after graph, one graph of four; all 32 graphs' memory; decisions FP8 against BF16."""
    result = {}
    torch.cuda.reset_peak_memory_stats()
    made = model(True)
    weights = torch.cuda.memory_allocated()
    graphs = Graphs(made)
    started = time.time()
    graphs.capture_all()
    torch.cuda.synchronize()
    result["graphs"] = {"lengths": len(graphs.lengths), "seconds": time.time() - started, "heldMiB": graphs.bytes_held >> 20}
    readout = torch.randn(256, 2560, device=DEVICE) * 2560**-0.5

    def logits(states):
        return reference.readout(states, readout)

    for tokens in (250, 900, 3000):
        prompts = [prompt(made, tokens, seed=i) for i in range(4)]
        joined = [torch.cat([p[i] for p in prompts], 1 if i == 1 else 0) for i in range(3)]
        runs = {
            "eagerMs": lambda p=prompts: [logits(eager(made, *a)) for a in p],
            "graphsMs": lambda p=prompts: [logits(graphs.run(*a)) for a in p],
        }
        if graphs.has(4, tokens):
            runs["oneGraphMs"] = lambda j=joined: [logits(graphs.run(*j))]
        outs = {name: torch.cat(call()) for name, call in runs.items()}
        result[str(tokens)] = {name: replayed(call, 7) for name, call in runs.items()}
        result[str(tokens)]["graphsEqualEager"] = torch.equal(outs["eagerMs"], outs["graphsMs"])
        soft = {name: out[:, :5].softmax(-1) for name, out in outs.items()}
        for name in set(soft) - {"graphsMs"}:
            result[str(tokens)][f"{name[:-2]}AgainstGraphsWorstProbability"] = (soft[name] - soft["graphsMs"]).abs().max().item()
        print("request", tokens, result[str(tokens)], flush=True)
    long = prompt(made, 65536)
    result["eager65536Ms"] = replayed(lambda: eager(made, *long), 2)
    result["memoryMiB"] = {
        "weights": weights >> 20,
        "peakAllocated": torch.cuda.max_memory_allocated() >> 20,
        "reserved": torch.cuda.max_memory_reserved() >> 20,
    }
    print("memory", result["memoryMiB"], result["graphs"], "65536 tokens", result["eager65536Ms"], flush=True)
    graphs.captured.clear()
    decisions = {}
    for label in ("fp8", "bf16"):
        if label == "bf16":
            del made
            linear_backends._columns.clear()
            torch.cuda.empty_cache()
            made = model(False)
        states = [eager(made, *prompt(made, 200 + 7 * i, seed=i)) for i in range(64)]
        chances = [logits(state)[:, : 3 + i % 5].softmax(-1).max(-1).values for i, state in enumerate(states)]
        decisions[label] = torch.cat(chances)
    difference = (decisions["fp8"] - decisions["bf16"]).abs()
    result["fp8AgainstBf16"] = {"questions": 64, "meanTopProbabilityDifference": difference.mean().item(), "worst": difference.max().item()}
    print("decisions", result["fp8AgainstBf16"], flush=True)
    return result


def image():
    """One image of 1,024 tokens in a question of four rotations, its features computed once or once a rotation."""
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5VisionConfig
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5VisionModel

    vision = Qwen3_5VisionConfig(depth=24, hidden_size=1024, intermediate_size=4096, num_heads=16, in_channels=3, patch_size=16,
                                 spatial_merge_size=2, temporal_patch_size=2, out_hidden_size=2560,
                                 num_position_embeddings=2304)  # fmt: skip
    tower = Qwen3_5VisionModel._from_config(vision, dtype=torch.bfloat16).to(DEVICE).eval()
    pixels, grid = torch.randn(4096, 1536, device=DEVICE, dtype=torch.bfloat16), torch.tensor([[1, 64, 64]], device=DEVICE)
    made = model(True)
    graphs = Graphs(made)
    graphs.capture(1, 1280)
    prompts = [prompt(made, 1274, seed=i) for i in range(4)]

    def features():
        return tower(pixels, grid_thw=grid).pooler_output

    def run(argument, feature):
        embeds, *rest = argument
        return graphs.run(torch.cat((embeds[:, :100], feature.unsqueeze(0).to(embeds.dtype), embeds[:, 1124:]), 1), *rest)

    def reused():
        feature = features()
        return torch.cat([run(argument, feature) for argument in prompts])

    def recomputed():
        return torch.cat([run(argument, features()) for argument in prompts])

    result = {"towerMs": replayed(features, 5), "reusedMs": replayed(reused, 5), "recomputedMs": replayed(recomputed, 5)}
    result["sameBits"] = torch.equal(reused(), recomputed())
    print("image", result, flush=True)
    return result


def fla():
    """The sizes that fla's kernels choose by measuring, to be shipped."""
    import gc

    from triton.runtime.autotuner import Autotuner

    plain = dispatch.operations(torch.cuda.get_device_capability())
    args = (torch.randn(4096, 12288, device=DEVICE, dtype=torch.bfloat16), torch.randn(4096, 64, device=DEVICE, dtype=torch.bfloat16),
            torch.randn(8192, 4, device=DEVICE, dtype=torch.bfloat16), torch.rand(32, device=DEVICE), torch.randn(32, device=DEVICE),
            (1, 4096), (16, 32), 128, 1 / 0.6931471805599453)  # fmt: skip
    plain.delta_rule(*plain.delta_inputs(*args))
    result = {}
    for tuner in gc.get_objects():
        if isinstance(tuner, Autotuner) and getattr(tuner, "cache", None):
            best = next(iter(tuner.cache.values()))
            result[tuner.base_fn.__name__] = {"kwargs": best.kwargs, "num_warps": best.num_warps, "num_stages": best.num_stages}
    print("fla", json.dumps(result), flush=True)
    return result


PARTS = {
    "compile": compile_sweep,
    "check": check,
    "quantiser": quantiser,
    "fla": fla,
    "sweep": sweep,
    "small": small,
    "image": image,
    "gemm": gemm,
    "forward": forward,
    "request": request,
}


def main():
    """Runs the parts named and writes the receipt after each, so that a cut run leaves what it had."""
    out, names = Path(sys.argv[1]), sys.argv[2:] or [name for name in PARTS if name not in ("compile", "sweep", "small", "fla")]
    import triton

    name, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability()
    RECEIPT["environment"] = {
        "gpu": name,
        "computeCapability": "{}.{}".format(*capability),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    torch.set_grad_enabled(False)
    for part in names:
        started = time.time()
        try:
            RECEIPT[part] = PARTS[part]()
        except Exception as error:
            import traceback

            traceback.print_exc()
            RECEIPT[part] = {"failed": f"{type(error).__name__}: {error}"[:500]}
        print(f"{part}: {time.time() - started:.0f} s", flush=True)
        out.write_text(json.dumps(RECEIPT, indent=1, sort_keys=True, default=str) + "\n")
    if "check" in RECEIPT:
        print(json.dumps(RECEIPT["check"], indent=0))


if __name__ == "__main__":
    main()
