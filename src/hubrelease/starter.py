"""init: looks at a model folder and writes a commented release.yaml that `check` accepts.

What can be known is filled in (licence, base, tasks from a card that is there; the format from config.json; receipts);
what can't is a comment that says what to write. Nothing but release.yaml is written, and an existing one is never replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hubrelease import verify_release
from hubrelease.against import opened
from hubrelease.errors import CheckFailed, OutsideError, SpecError, problem
from hubrelease.release import Release
from hubrelease.spec import FILE_NAME
from hubrelease.strict_yaml import compose, typed
from hubrelease.workspace import write_durably

SCHEMA = "https://raw.githubusercontent.com/hubrelease/hubrelease/main/schemas/release.schema.json"
WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".onnx", ".h5", ".msgpack")
REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Seen:
    """What a model folder tells of itself."""

    name: str
    license: str | None
    licence_text: str | None  # the file's name
    base_model: str | None
    format: str
    recipe: str
    receipts: tuple[str, ...]
    adapter: bool
    has_card: bool
    has_weights: bool
    card: dict[str, Any] = field(default_factory=dict)


def init(folder: Path) -> tuple[Path, Seen]:
    """Writes `folder`/release.yaml; its path, and what was seen. CheckFailed where one is there already."""
    file = folder / FILE_NAME
    if file.exists():
        raise CheckFailed(problem("target-occupied", str(file), "is there already", "edit it, or remove it first"))
    seen = look(opened(folder), folder)
    try:
        write_durably(file, "\n".join(text_lines(seen)).encode() + b"\n")
    except OSError as error:
        raise OutsideError(
            problem("disk-fault", str(file), f"could not be written: {error.strerror}", "give yourself the right to write there")
        ) from None
    return file, seen


def look(release: Release, folder: Path) -> Seen:
    card = front_matter(release)
    config = release.config()
    base = card.get("base_model")
    base = base[0] if isinstance(base, list) and base else base
    adapter = release.config("adapter_config.json")
    base = base if isinstance(base, str) else adapter.get("base_model_name_or_path") or config.get("_name_or_path")
    licence = card.get("license")
    return Seen(
        name=f"your-name/{re.sub(r'[^A-Za-z0-9._-]+', '-', folder.resolve().name).strip('-.') or 'model'}",
        license=licence if isinstance(licence, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]*", licence) else None,
        licence_text=next((path for path in sorted(release.files) if re.match(r"(?i)licen[cs]e[^/]*$", path)), None),
        base_model=base if isinstance(base, str) and REPO.fullmatch(base) else None,
        format=format_of(config),
        recipe=recipe_of(config, bool(adapter)),
        receipts=tuple(receipts(release)),
        adapter=bool(adapter),
        has_card="README.md" in release.files,
        has_weights=any(path.endswith(WEIGHTS) for path in release.files),
        card={
            key: card[key] for key in ("language", "tags", "pipeline_tag", "library_name", "base_model_relation") if plain(card.get(key))
        },
    )


def plain(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value))


def front_matter(release: Release) -> dict[str, Any]:
    """The card's YAML block as it is there; nothing where it can't be read."""
    data = release.read("README.md") or b""
    match = re.match(rb"\s*---\r?\n(.*?)\r?\n---\s*(?:\n|$)", data, re.S)
    try:
        value = typed(compose(match[1], "README.md"), {}) if match else {}
    except SpecError:
        return {}
    return value if isinstance(value, dict) else {}


def format_of(config: Any) -> str:
    """A checkpoint that is quantised already is taken as it is; a plain BF16 one is bf16."""
    if config.get("quantization_config") or config.get("quantization"):
        return "as-is"
    return "bf16" if (config.get("torch_dtype") or config.get("dtype")) == "bfloat16" else "as-is"


def recipe_of(config: Any, adapter: bool) -> str:
    quantised = config.get("quantization_config")
    if isinstance(quantised, dict):
        method = quantised.get("quant_method") or quantised.get("quant_algo") or "an unnamed method"
        return f"quantised before ({method}); say with what tool, version and data"
    return "a LoRA adapter; say what it was trained on" if adapter else "say what made these weights"


def receipts(release: Release) -> Iterator[str]:
    """JSON files that look like results: under benchmarks/ or results/, or named so."""
    for path in sorted(release.files):
        likely = re.match(r"(benchmarks|results|eval)[^/]*/.*\.jsonl?$", path) or re.fullmatch(r"(results|eval).*\.json", path)
        if likely and path != "benchmarks/release-validation.json" and readable(release, path):
            yield path


def readable(release: Release, path: str) -> bool:
    data = release.read(path) or b""
    try:
        for line in data.splitlines() if path.endswith(".jsonl") else [data]:
            verify_release.strict_json(line)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------------------------------------------------------- text


def quoted(value: object) -> str:
    """A value as YAML, in JSON's own form where that is needed."""
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", value) else json.dumps(value, ensure_ascii=False)


def text_lines(seen: Seen) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={SCHEMA}"
    then = "make this folder a release: `hubrelease seal .`" if seen.has_weights else "`hubrelease build . --out DIR`"
    yield f"# Written by `hubrelease init`. Check it with `hubrelease check .`, then {then}"
    yield "schema: 1"
    yield f"name: {quoted(seen.name)}  # the repository on the Hub"
    yield 'version: "0.1.0"'
    yield from licence_lines(seen)
    yield ""
    yield from source_lines(seen)
    yield ""
    yield "weights:"
    yield f"  format: {seen.format}"
    yield f"  recipe: {quoted(seen.recipe)}"
    yield ""
    yield from receipt_lines(seen)
    yield from card_lines(seen)


def licence_lines(seen: Seen) -> Iterator[str]:
    if seen.license:
        yield f"license: {quoted(seen.license)}  # from the card that is there"
    else:
        yield "license: other  # no licence was found; write the Hub's id, such as apache-2.0"
        yield "license_name: unknown"
        yield f"license_link: {quoted(seen.licence_text)}" if seen.licence_text else "# license_link: LICENSE  # a file with its text"
    if not seen.licence_text:
        yield "# license_text: canonical  # no LICENSE file was found; this writes the text of apache-2.0"


def source_lines(seen: Seen) -> Iterator[str]:
    repo = seen.base_model or "org/name"
    yield "# Where the weights come from. With a source, run `hubrelease pin .` once; it needs the network."
    yield "# sources:"
    yield f"#   base_model: {{hf: {repo}, revision: main}}"


def receipt_lines(seen: Seen) -> Iterator[str]:
    if not seen.receipts:
        yield "# benchmarks:"
        yield "#   - receipt: benchmarks/results.json  # a harness's own output"
    else:
        yield "benchmarks:"
        for path in seen.receipts:
            to = path if path.startswith("benchmarks/") else "benchmarks/" + path.rsplit("/", 1)[-1]
            yield f"  - {{receipt: {quoted(path)}, as: {quoted(to)}}}"
    yield ""


FIGURE = '{receipt: benchmarks/results.json, pointer: "/results/gsm8k/exact_match,strict-match", as: percent, decimals: 2}'


def card_lines(seen: Seen) -> Iterator[str]:
    """The card's section; as a comment where a card is there, which sealing then keeps as it is."""
    rows = ["card:", "  summary: Say in two sentences what this model is and what it is for."]
    rows += [f"  base_model: {quoted(seen.base_model)}"] if seen.base_model else []
    rows += [f"  {key}: {quoted(value)}" for key, value in seen.card.items()]
    if seen.has_card:
        yield "# The README.md that is there is kept as it is. With this section it would be rendered from its data instead;"
        yield "# move it away first."
    yield from (f"# {row}" if seen.has_card else row for row in rows)
    mark = "#   " if seen.has_card else "  # "  # without the mark, the lines stand where they belong
    yield f"{mark}tables:"
    yield f"{mark}  - title: Accuracy"
    yield f"{mark}    columns: [benchmark, accuracy]"
    yield f"{mark}    rows: [[GSM8K, {FIGURE}]]"
