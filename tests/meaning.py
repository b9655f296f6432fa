"""Tiny releases for the checks on what a release means, and what those checks say (HR300-389, HR410-459).

    judged(tmp_path, changed("config.json", vocab_size=99))   the tiny model with changes -> [(kind, severity, file)]
    one(tmp_path, changes)                                    the only Problem
    reshaped({"lm_head.weight": None, "x": [2, 2]})           {model.safetensors: its tensors with others, or without some}
    saved("qwen3_5", change)                                  {path: bytes} of a tiny checkpoint that transformers wrote
    adapter("plain", change)                                  {path: bytes} of an adapter that PEFT wrote

Every problem must have one line, a mend and a place; checks of other ranges are not run.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import tiny

from hubrelease import verify_release
from hubrelease.checks import checks
from hubrelease.errors import Problem
from hubrelease.release import Release

DATA = Path(__file__).parent / "data"
RANGES = (range(300, 390), range(410, 460))
BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "U8": 1, "F8_E4M3": 1, "I32": 4, "U32": 4}
Changes = Mapping[str, bytes | None]
Found = list[tuple[str, str, str]]


def opened(tmp_path: Path, changes: Changes | None = None, spec: Mapping[str, Any] | None = None, *, base: Mapping[str, Any] | None = None,
           bare: bool = False, deep: bool = False) -> Release:  # fmt: skip
    """The tiny release with `changes`, read. `base`: more of the base model's row in provenance; `bare`: without provenance."""
    root = tiny.release(tmp_path / "release", changes, spec)
    if base is not None:
        tiny.edit(root, lambda s: s["predicate"]["buildDefinition"]["resolvedDependencies"][0].update(base))
    if bare:
        (root / tiny.PROVENANCE).unlink()
    return Release(root, verify_release.check_folder(root), deep=deep)


def folder(tmp_path: Path, files: Mapping[str, bytes]) -> Release:
    """A folder of these files alone."""
    root = tiny.write(tmp_path / "folder", files)
    return Release(root, verify_release.check_folder(root))


def is_ours(code: str) -> bool:
    return any(int(code[2:]) in numbers for numbers in RANGES)


def problems_of(release: Release) -> list[Problem]:
    found = [problem for check in checks() if is_ours(check.code) for problem in check.run(release)]
    for problem in found:
        assert problem.message, problem
        assert "\n" not in problem.message, problem
        assert problem.mend, problem
        assert problem.where.file, problem
    return found


def kinds(found: list[Problem]) -> Found:
    return [(p.kind, p.severity, p.where.file) for p in found]


def judged(tmp_path: Path, changes: Changes | None = None, spec: Mapping[str, Any] | None = None, **more: Any) -> Found:
    return kinds(problems_of(opened(tmp_path, changes, spec, **more)))


def one(tmp_path: Path, changes: Changes | None = None, spec: Mapping[str, Any] | None = None, **more: Any) -> Problem:
    found = problems_of(opened(tmp_path, changes, spec, **more))
    assert len(found) == 1, found
    return found[0]


# ------------------------------------------------------------------------------------------------------------- the tiny model


def changed(path: str, **keys: Any) -> dict[str, bytes | None]:
    """A JSON file of the tiny model with other keys; ... takes one out."""
    value = json.loads(tiny.model().get(path, b"{}"))
    value.update(keys)
    return {path: tiny.dumps({key: item for key, item in value.items() if item is not ...})}


def zeros(dtype: str, shape: list[int]) -> tiny.Tensor:
    return dtype, shape, bytes(math.prod(shape) * BYTES[dtype])


def reshaped(tensors: Mapping[str, list[int] | tiny.Tensor | None], metadata: Mapping[str, str] | None = None) -> dict[str, bytes | None]:
    """The tiny model's container with tensors replaced, added (by shape) or, by None, left out."""
    found = dict(tiny.weights())
    for name, value in tensors.items():
        if value is None:
            del found[name]
        else:
            found[name] = value if isinstance(value, tuple) else zeros("BF16", value)
    return {"model.safetensors": tiny.safetensors(found, metadata)}


# ------------------------------------------------------------------------------------------------- what real tools have written


@cache
def checkpoints() -> dict[str, Any]:
    return json.loads((DATA / "architectures-transformers-5.24.0.json").read_text())["checkpoints"]


def saved(name: str, change: Callable[[dict[str, Any], dict[str, tiny.Tensor]], object] = lambda config, tensors: None) -> dict[str, bytes]:
    """config.json and model.safetensors of a checkpoint, after `change(config, tensors)`."""
    found = checkpoints()[name]
    config, tensors = copy.deepcopy(found["config"]), {}
    for form, names in found["tensors"].items():
        dtype, _, text = form.partition(" ")
        tensors |= dict.fromkeys(names, zeros(dtype, [int(size) for size in text.split("x") if size]))
    change(config, tensors)
    files = {"config.json": tiny.dumps(config), "model.safetensors": tiny.safetensors(tensors)}
    if "vision_config" in config or config["model_type"] == "whisper":
        files["preprocessor_config.json"] = b"{}\n"
    return files


@cache
def adapters() -> dict[str, Any]:
    return json.loads((DATA / "adapters-peft-0.21.2.json").read_text())["adapters"]


def adapter(
    name: str, change: Callable[[dict[str, Any], dict[str, tiny.Tensor]], object] = lambda config, tensors: None
) -> dict[str, bytes]:
    """adapter_config.json (with a public, pinned base) and adapter_model.safetensors, after `change(config, tensors)`."""
    found = adapters()[name]
    config = copy.deepcopy(found["config"]) | {"base_model_name_or_path": "example-org/tiny-base", "revision": "0123456789" * 4}
    tensors = {name: zeros(dtype, shape) for name, (dtype, shape) in found["tensors"].items()}
    change(config, tensors)
    return {"adapter_config.json": tiny.dumps(config), "adapter_model.safetensors": tiny.safetensors(tensors)}
