"""verify of releases with many tensors: time and peak memory, and how both grow with the number of tensors.

Headers, index and config are real (a mixture of experts, 100 tensors a shard); the payload is sparse and there is no
provenance, so nothing is hashed: what is measured is reading headers and running every check.

python bench/structure.py [--rounds 3]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from common import HUBRELEASE, arguments, scratch, table

from hubrelease.weights import header_bytes

SIZES = (10_000, 30_000, 100_000)  # tensors
PER_SHARD = 100
EXPERTS, HIDDEN, EXPERT_WIDTH, HEADS, HEAD, VOCAB = 128, 2048, 768, 32, 128, 32_000
MAX_SECONDS, MAX_MIB = 6.0, 400.0
Row = tuple[str, str, tuple[int, ...]]


def rows_of(layers: int) -> list[Row]:
    """(name, dtype, shape) of every tensor of a Qwen3-MoE of so many layers."""
    rows: list[tuple[str, tuple[int, ...]]] = [("model.embed_tokens.weight", (VOCAB, HIDDEN))]
    for layer in range(layers):
        at = f"model.layers.{layer}."
        rows += [(f"{at}self_attn.{name}.weight", shape) for name, shape in ATTENTION.items()]
        rows += [(f"{at}{name}_layernorm.weight", (HIDDEN,)) for name in ("input", "post_attention")]
        rows.append((f"{at}mlp.gate.weight", (EXPERTS, HIDDEN)))
        for expert in range(EXPERTS):
            rows += [(f"{at}mlp.experts.{expert}.{name}_proj.weight", (EXPERT_WIDTH, HIDDEN)) for name in ("gate", "up")]
            rows.append((f"{at}mlp.experts.{expert}.down_proj.weight", (HIDDEN, EXPERT_WIDTH)))
    rows += [("model.norm.weight", (HIDDEN,)), ("lm_head.weight", (VOCAB, HIDDEN))]
    return [(name, "BF16", shape) for name, shape in rows]


ATTENTION = {
    "q_proj": (HEADS * HEAD, HIDDEN), "k_proj": (4 * HEAD, HIDDEN), "v_proj": (4 * HEAD, HIDDEN), "o_proj": (HIDDEN, HEADS * HEAD),
    "q_norm": (HEAD,), "k_norm": (HEAD,),
}  # fmt: skip


def config_of(layers: int) -> dict[str, object]:
    return {
        "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": HIDDEN, "num_hidden_layers": layers,
        "num_attention_heads": HEADS, "num_key_value_heads": 4, "head_dim": HEAD, "num_experts": EXPERTS, "num_experts_per_tok": 8,
        "moe_intermediate_size": EXPERT_WIDTH, "intermediate_size": 6144, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "vocab_size": VOCAB, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    }  # fmt: skip


def make(folder: Path, tensors: int) -> tuple[int, int]:
    """A release of about so many tensors; (tensors, shards) as they came out."""
    layers = max(1, round(tensors / (3 * EXPERTS + len(ATTENTION) + 3)))
    rows = rows_of(layers)
    folder.mkdir(parents=True)
    shards = [rows[start : start + PER_SHARD] for start in range(0, len(rows), PER_SHARD)]
    weight_map, total = {}, 0
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        head, size = header_bytes(shard, {"format": "pt"}), sum(2 * elements(shape) for _, _, shape in shard)
        with (folder / name).open("wb") as out:
            out.write(head)
            out.truncate(len(head) + size)
        weight_map |= {row[0]: name for row in shard}
        total += size
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True))
    (folder / "config.json").write_text(json.dumps(config_of(layers)))
    (folder / "README.md").write_text("---\nlicense: apache-2.0\nlibrary_name: transformers\n---\n\n# bench\n")
    return len(rows), len(shards)


def elements(shape: tuple[int, ...]) -> int:
    count = 1
    for dimension in shape:
        count *= dimension
    return count


class Run(NamedTuple):
    """One verify in a process of its own: wall and CPU seconds, peak MiB, the kinds of its findings."""

    seconds: float
    cpu: float
    peak: float
    kinds: str


def verify(release: Path) -> Run:
    said = release.parent / "said.json"
    command = ["/bin/sh", "-c", f'exec {" ".join(HUBRELEASE)} verify "{release}" --json > "{said}"']
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    assert os.waitstatus_to_exitcode(status) in (0, 1, 3), subprocess.list2cmdline(command)
    kinds = sorted({finding["kind"] for finding in json.loads(said.read_text())["findings"]})
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, ", ".join(kinds))


def main() -> None:
    asked = arguments("verify of many tensors", rounds=3)
    rows, within = [], True
    with scratch(asked.folder) as folder:
        for size in SIZES:
            release = folder / f"release-{size}"
            tensors, shards = make(release, size)
            runs = [verify(release) for _ in range(asked.rounds)]
            shutil.rmtree(release)
            seconds, cpu, peak = median(r.seconds for r in runs), median(r.cpu for r in runs), max(r.peak for r in runs)
            within = within and seconds < MAX_SECONDS and peak < MAX_MIB
            times = (f"{seconds:.2f} s", f"{cpu:.2f} s", f"{10_000 * cpu / tensors:.3f} s")
            rows.append((f"{tensors:,}", f"{shards:,}", *times, f"{peak:.0f} MiB", f"{10_000 * peak / tensors:.1f} MiB", runs[0].kinds))
    head = ("tensors", "shards", "verify", "of CPU", "CPU per 10,000", "peak", "per 10,000", "findings")
    table(f"hubrelease verify, headers and checks only, medians of {asked.rounds}", rows, head)
    word = "kept" if within else "MISSED"
    print(f"\ngoal up to 100,000 tensors: below {MAX_SECONDS:.0f} s and {MAX_MIB:.0f} MiB: {word} (load {os.getloadavg()[0]:.1f})")
    sys.exit(0 if within else 1)


if __name__ == "__main__":
    main()
