"""Prints what `verify` reports for each real card, config and result file of the fixtures, each in a folder of its own.

python bench/fixtures_report.py [--folder .bench] [--fixtures ../shared/fixtures]

Real files: every row should be one that the file's own maintainer would agree with. `provenance-missing` is left out: a bare
folder has none. Configs get the shard index and the quantisation config that belong to them; weights are not there.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path

from common import scratch, table

from hubrelease import verifier

EXPECTED = {"provenance-missing"}
SIDE_FILES = {".config.json": "config.json", ".model.safetensors.index.json": "model.safetensors.index.json",
              ".hf_quant_config.json": "hf_quant_config.json", ".adapter_config.json": "adapter_config.json"}  # fmt: skip


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--folder", type=Path, default=Path(".bench"))
    asked.add_argument("--fixtures", type=Path, default=Path(__file__).resolve().parent.parent.parent / "shared" / "fixtures")
    options = asked.parse_args()
    with scratch(options.folder) as folder:
        rows = [row for name, files in releases(options.fixtures) for row in report(folder / name, name, files)]
    table("real files", rows, ("fixture", "severity", "kind", "file", "message"))


def releases(fixtures: Path) -> Iterator[tuple[str, dict[str, Path]]]:
    """(name, {path in the release: file}) of each folder to verify."""
    for card in sorted((fixtures / "cards").glob("*.md")):
        yield f"card {card.stem}", {"README.md": card}
    for results in sorted((fixtures / "cards").glob("*.yaml")):
        yield f"card {results.stem}", {f".eval_results/{results.name}": results}
    for results in sorted((fixtures / "benchmarks").iterdir()):
        yield f"result {results.stem}", {f"benchmarks/{results.name}": results}
    models: dict[str, dict[str, Path]] = {}
    for config in sorted((fixtures / "configs").iterdir()):
        suffix = next((end for end in SIDE_FILES if config.name.endswith(end)), None)
        if suffix:
            models.setdefault(config.name.removesuffix(suffix), {})[SIDE_FILES[suffix]] = config
    for name, files in models.items():
        card = fixtures / "cards" / f"{name}.md"
        yield f"config {name}", {**files, **({"README.md": card} if card.exists() else {})}


def report(root: Path, name: str, files: dict[str, Path]) -> Iterator[tuple[str, ...]]:
    for path, source in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, root / path)
    found = [p for p in verifier.verify(root).problems if p.kind not in EXPECTED]
    for problem in found:
        place = f"{problem.where.file}:{problem.where.line}" if problem.where.line else problem.where.file
        yield name, problem.severity, problem.kind, place, problem.message[:160]
    if not found:
        yield name, "", "(nothing)", "", ""


if __name__ == "__main__":
    main()
