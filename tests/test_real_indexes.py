"""Shard indexes of published models, over made-up shards that hold what they name: nothing to tell but the sums of bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from weight_files import problems_of

from hubrelease import verify_release
from hubrelease.release import Release
from hubrelease.weights import header_bytes

CONFIGS = Path(__file__).parent.parent.parent / "shared" / "fixtures" / "configs"
SUFFIX = ".model.safetensors.index.json"
INDEXES = sorted(CONFIGS.glob(f"*{SUFFIX}"))


@pytest.mark.skipif(not INDEXES, reason=f"0 indexes at ../shared/fixtures/configs/*{SUFFIX}")
@pytest.mark.parametrize("path", INDEXES, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_a_published_index_is_no_finding(tmp_path, path):
    rows: dict[str, list[tuple[str, str, tuple[int, ...]]]] = {}
    for name, file in json.loads(path.read_bytes())["weight_map"].items():
        rows.setdefault(file, []).append((name, "BF16", (4,)))
    files = {file: header_bytes(held, {"format": "pt"}) + bytes(8 * len(held)) for file, held in rows.items()}
    files["config.json"] = (CONFIGS / path.name.replace(SUFFIX, ".config.json")).read_bytes()
    files["model.safetensors.index.json"] = path.read_bytes()
    root = tiny.write(tmp_path / "release", files)
    found = problems_of(Release(root, verify_release.check_folder(root)))
    assert {p.kind for p in found} == {"index-total-size"}
