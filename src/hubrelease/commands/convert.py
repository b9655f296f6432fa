"""hubrelease convert: the conversion step alone."""

from __future__ import annotations

from pathlib import Path

import click

from hubrelease import report
from hubrelease.commands.options import common
from hubrelease.conversion.folder import convert_folder
from hubrelease.conversion.request import request_for
from hubrelease.outside import Outside
from hubrelease.report import Outcome, pasted

FORMATS = ("fp8_block", "fp8_dynamic", "nvfp4a16", "nvfp4", "modelopt_nvfp4", "w8a16", "w4a16")


@click.command(epilog="Example: hubrelease convert models/base --format fp8_block --out models/base-fp8 --exclude '**.mlp.down_proj'")
@click.argument("source", metavar="SRC")
@click.option("--format", "form", required=True, type=click.Choice(FORMATS), help="What to convert to.")
@click.option("--out", required=True, metavar="DIR", help="A new or empty folder.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Where to round. The bytes are the same.")
@click.option("--include", multiple=True, metavar="PATTERN", help="Only these modules (* within a name's dots, ** across them).")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Not these modules.")
@click.option("--activation-scales", metavar="FILE", help="Activation scales: safetensors or JSON {module: amax}.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the format, such as mixed_precision=true.")
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="Shards worked on at once (default: one a core).")
@common
def COMMAND(
    source: str,
    form: str,
    out: str,
    device: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    activation_scales: str | None,
    options: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
    quiet: bool,
) -> Outcome:
    """Convert a model folder, tensor by tensor and name for name, and write down what became of each (conversion_manifest.json)."""
    asked = request_for(form, device, include or None, exclude, activation_scales, options)
    progress = report.progress_for(quiet)
    done = convert_folder(Path(source), Path(out), asked, Outside(Path.cwd(), progress=progress), jobs)
    t = done.totals
    lines = [
        f"{out}: {done.files} files, {report.size_text(done.size)}",
        f"{t['tensors'].get('quantized', 0)} weights quantised, {100 * t['quantizedShare']:.1f} % of the parameters; "
        f"{t['bitsPerParameter']:.3f} bits a parameter",
    ]
    return Outcome("convert", lines=lines, value={"folder": str(done.folder), "totals": t}, hint=pasted("hubrelease", "init", out))
