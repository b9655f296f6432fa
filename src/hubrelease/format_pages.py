"""docs/formats.md: a page for each format, made from the docstrings and values of formats/ and the rules of conversion/rules.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from hubrelease.conversion.rules import PROTECTED, SENSITIVE
from hubrelease.formats import Format, formats
from hubrelease.spec import PASS_THROUGH

EXAMPLE = (256, 512)

HEAD = """# Formats

Generated from the formats' docstrings by `make docs`; don't edit by hand.

`weights.format` in release.yaml, or (but for `bf16`) `--format` of `hubrelease convert`. Conversion works tensor by tensor: a weight is
quantised, or its bytes are carried over as they are, dtype included. `conversion_manifest.json` says which, and why.

## What is quantised

A module is quantised if it has a matrix `NAME.weight` of BF16, F16 or F32, if its name is of no kind below, and if the
format can hold it (the page of each format says what rows and columns must be multiples of). What a format can't hold
stays as it is and is listed under `kept` in the manifest and among the exclusions in config.json. Where readers load
siblings as one matrix ({fused}) all of a set are quantised or none.

Never, whatever the patterns say; a pattern that asks for it is an error:

{protected}

Only if `include` names them:

{sensitive}

`include` and `exclude` are patterns over module names: `*` stays between two dots, `**` crosses them
(`**.experts.**`, `model.layers.*.mlp.down_proj`). A pattern that fits no module is an error. Experts that lie in one
tensor without `.weight` are carried as they are and listed. Models whose matrices are stored turned (GPT-2) are refused.

## Activation scales

`nvfp4` and `modelopt_nvfp4` take them from a file (`weights.activation_scales`, `--activation-scales`), in any of three
forms: safetensors with `<module>.input_scale` (F32, amax / 2688: ModelOpt's multiplier), safetensors with
`<module>.input_global_scale` (F32, 2688 / amax: compressed-tensors' divisor), or JSON `{{module: amax}}`, amax being the
largest |activation| that calibration met. Every quantised module needs one, and the file may name no other. Siblings
that readers fuse share the largest amax of the set, for readers take one scale for all of them.
"""


def markdown() -> str:
    return "\n".join([head(), *(line for form in formats() for line in page(form))]).rstrip() + "\n"


def head() -> str:
    fused = "; ".join(", ".join(f"`{name}`" for name in group) for group in formats()[0].fused)
    never = "\n".join(f"- {why}: `{pattern.pattern}`" for why, pattern in PROTECTED)
    seldom = "\n".join(f"- {why}: `{pattern.pattern}`" for why, pattern in SENSITIVE)
    return HEAD.format(fused=fused, protected=never, sensitive=seldom)


def page(form: Format) -> Iterator[str]:
    doc = (sys.modules[f"hubrelease.formats.{form.name}"].__doc__ or "").strip().splitlines()
    yield from (f"## `{form.name}`", "", form.sentence, "")
    if form.name in PASS_THROUGH:  # nothing is rounded, so there is no rule to tell
        yield from (f"- **Read by** {form.readers}.", "", *doc, "")
        return
    kernel, (rows, columns) = form.kernel, EXAMPLE
    yield from (f"- **Follows** {form.arithmetic}.", f"- **Read by** {form.readers}.")
    yield f"- **Takes** {', '.join(form.dtypes)}; rows in multiples of {kernel.rows_of}, columns of {kernel.columns_of}."
    if options := form.options.get("properties"):
        yield f"- **Options** {', '.join(f'`{name}`' for name in sorted(options))}."
    yield from ("", f"A weight of {rows} × {columns} in BF16 becomes:", "", "| tensor | dtype | shape | holds |", "|---|---|---|---|")
    for part in form.parts(rows, columns, "BF16"):
        where = f", in `{form.apart_file}`" if part.suffix in form.apart else ""
        yield f"| `NAME{part.suffix}` | {part.dtype} | {list(part.shape)} | {part.role}{where} |"
    yield from ("", *doc, "")
