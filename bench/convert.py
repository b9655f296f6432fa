"""Conversion of a 1.88 GB checkpoint beside llm-compressor's file-level converter and beside SHA-256 of all bytes in and out.

    python bench/convert.py [--rounds 3] [--peer PYTHON]      time and memory; PYTHON of an environment with llmcompressor
    python bench/convert.py --sizes 1,8                        peak memory by the size of the base, in GB

The checkpoint is Qwen3-shaped: hidden 2560, FFN 9216, 8 layers, 32 and 8 heads of 128, vocabulary 32,000, not tied, in four
shards of which two cut a fused set. Without --peer (see requirements in tests/parity.py) its rows are left out.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path

from common import HUBRELEASE, arguments, files_of, hash_with_two_threads, peak_mib, scratch, table, timed

from hubrelease.weights import header_bytes

HIDDEN, FFN, LAYERS, HEADS, KV_HEADS, HEAD, VOCABULARY = 2560, 9216, 8, 32, 8, 128, 32_000
FORMATS = {"fp8_block": "FP8_BLOCK", "nvfp4a16": "NVFP4A16", "fp8_dynamic": "FP8_DYNAMIC"}
PEER = "import sys; from llmcompressor import model_free_ptq as m; m(sys.argv[1], sys.argv[2], scheme=sys.argv[3], ignore=['lm_head', 'model.embed_tokens'], max_workers=1, device='cpu')"  # noqa: E501
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "dtype": "bfloat16",
    "hidden_size": HIDDEN,
    "intermediate_size": FFN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 4096,
    "hidden_act": "silu",
}


def main() -> None:
    asked = arguments("conversion", rounds=3, peer="", sizes="")
    with scratch(asked.folder) as folder:
        if asked.sizes:
            by_size(folder, [float(size) for size in asked.sizes.split(",")])
        else:
            beside_peers(folder, asked.rounds, asked.peer)


def beside_peers(folder: Path, rounds: int, peer: str) -> None:
    source, out = folder / "base", folder / "out"
    make_checkpoint(source, LAYERS)
    for form, scheme in FORMATS.items():
        works = {"hubrelease convert": ours(source, out, form)}
        if peer:
            works["llm-compressor model_free_ptq"] = [peer, "-c", PEER, str(source.resolve()), str(out.resolve()), scheme]
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
        hashes = []
        for _ in range(rounds):
            for name, command in reversed(works.items()):  # ours last: its output is hashed
                fresh(out, folder)
                os.sync()
                found[name].append(peak_mib(command))
            hashes.append(timed(lambda: hash_with_two_threads([*files_of(source), *files_of(out)])))
        hash_time = statistics.median(hashes)
        medians = {name: (statistics.median(t for _, t in rows), statistics.median(m for m, _ in rows)) for name, rows in found.items()}
        slowest = medians[list(works)[-1]]
        table_rows = [
            (name, f"{t:.2f} s", f"1/{slowest[0] / t:.1f}", f"{m:.0f} MiB", f"{m / slowest[1]:.2f}", f"{t / hash_time:.2f}")
            for name, (t, m) in medians.items()
        ]
        table_rows.append(("SHA-256 of all bytes in and out, two threads", f"{hash_time:.2f} s", "", "", "", "1.00"))
        title = f"{form}: 1.88 GB in four shards, source in the page cache, medians of {rounds}"
        table(title, table_rows, ("", "time", "of the last", "peak memory", "of the last", "of SHA-256"))


def by_size(folder: Path, sizes: list[float]) -> None:
    rows = []
    for form in ("fp8_block", "nvfp4a16"):
        for size in sizes:
            source, out = folder / "base", folder / "out"
            shutil.rmtree(source, ignore_errors=True)
            layers = max(1, round((size * 1e9 - 4 * VOCABULARY * HIDDEN) / layer_bytes()))
            make_checkpoint(source, layers, shards=max(1, round(size)))
            real = sum(p.stat().st_size for p in files_of(source)) / 1e9
            fresh(out, folder)
            peak, seconds = peak_mib(ours(source, out, form))
            rows.append((form, f"{real:.2f} GB", f"{layers}", f"{peak:.0f} MiB", f"{seconds:.1f} s", f"{real / seconds:.2f} GB/s"))
    table("hubrelease convert: peak memory by size", rows, ("", "base", "layers", "peak", "time", "of base"))


def fresh(out: Path, folder: Path) -> None:
    """No output and no finished shards of an earlier run; the compiled kernels stay, as they do for a user."""
    shutil.rmtree(out, ignore_errors=True)
    for notes in (folder / "cache").glob("**/conversions"):
        shutil.rmtree(notes)


def ours(source: Path, out: Path, form: str) -> list[str]:
    keep = [word for name in ("lm_head", "model.embed_tokens") for word in ("--exclude", name)]
    return [*HUBRELEASE, "convert", str(source), "--format", form, "--out", str(out), "-q", *keep]


def layer(number: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    at = f"model.layers.{number}."
    yield at + "input_layernorm.weight", (HIDDEN,)
    for name, rows, columns in (
        ("self_attn.q_proj", HEADS * HEAD, HIDDEN),
        ("self_attn.k_proj", KV_HEADS * HEAD, HIDDEN),
        ("self_attn.v_proj", KV_HEADS * HEAD, HIDDEN),
        ("self_attn.o_proj", HIDDEN, HEADS * HEAD),
        ("mlp.gate_proj", FFN, HIDDEN),
        ("mlp.up_proj", FFN, HIDDEN),
        ("mlp.down_proj", HIDDEN, FFN),
    ):
        yield f"{at}{name}.weight", (rows, columns)
    yield at + "self_attn.q_norm.weight", (HEAD,)
    yield at + "self_attn.k_norm.weight", (HEAD,)
    yield at + "post_attention_layernorm.weight", (HIDDEN,)


def layer_bytes() -> int:
    return 2 * sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for _, shape in layer(0))


def make_checkpoint(folder: Path, layers: int, shards: int = 4) -> None:
    """Normal x 0.02 as BF16, norms of ones; shards of about equal size, cut where they come to it."""
    import numpy

    folder.mkdir(parents=True)
    tensors = [("model.embed_tokens.weight", (VOCABULARY, HIDDEN))]
    tensors += [row for number in range(layers) for row in layer(number)]
    tensors += [("model.norm.weight", (HIDDEN,)), ("lm_head.weight", (VOCABULARY, HIDDEN))]
    sizes = [2 * numpy.prod(shape, dtype=int) for _, shape in tensors]
    limit, groups, used = sum(sizes) / shards, [[] for _ in range(shards)], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        groups[min(shards - 1, int(used / limit))].append(tensor)
        used += size
    random, weight_map = numpy.random.default_rng(0), {}
    noise = (random.standard_normal(2**24, dtype=numpy.float32) * numpy.float32(0.02)).view(numpy.uint32) + 0x8000
    noise = (noise >> 16).astype(numpy.uint16)
    for number, group in enumerate(groups, 1):
        name = f"model-{number:05d}-of-{shards:05d}.safetensors"
        with (folder / name).open("wb") as out:
            out.write(header_bytes([(n, "BF16", shape) for n, shape in group], {"format": "pt"}))
            for tensor, shape in group:
                weight_map[tensor] = name
                count, start = int(numpy.prod(shape)), int(random.integers(2**24))
                for at in range(0, count, 2**24):
                    piece = numpy.roll(noise, start + at)[: min(2**24, count - at)] if len(shape) > 1 else numpy.full(count, 0x3F80, "<u2")
                    out.write(piece.tobytes())
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": int(used)}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(CONFIG))


if __name__ == "__main__":
    main()
