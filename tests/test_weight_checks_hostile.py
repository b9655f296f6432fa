"""The checks on containers, indexes and weight files over releases that mean harm: they end, they raise nothing, they say something."""

from __future__ import annotations

import time
from typing import Any

import pytest
import tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weight_files import INDEX, entry, opened, problems_of, raw, sharded

from hubrelease import verify_release
from hubrelease.release import Release

ODD = st.sampled_from(
    ["", "..", "../x", "/etc/passwd", "a/b", "model.safetensors", "model-00001-of-00002.safetensors", "\u202e", "\0", "x" * 2000, "C:\\x"]
)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ODD,
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3), max_leaves=8)  # fmt: skip
QUIET = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def again(release: Release, files: dict[str, bytes]) -> Release:
    """The same folder with other files, read anew and without hashing."""
    tiny.write(release.root, files)
    entries, _ = release.folder.scan()
    return Release(release.root, release.result._replace(entries=entries))


@QUIET
@given(JSON, JSON, JSON)
def test_any_index(tmp_path_factory, whole, rows, metadata):
    release = base(tmp_path_factory)
    for value in (
        whole,
        {"weight_map": rows, "metadata": metadata},
        {"weight_map": {"w": rows, "model.norm.weight": "model.safetensors"}, "metadata": {"total_size": metadata}},
    ):
        assert problems_of(again(release, {INDEX: tiny.dumps(value)}))


@QUIET
@given(JSON, JSON)
def test_any_spec_and_config(tmp_path_factory, spec, config):
    release = base(tmp_path_factory)
    release = again(release, {"config.json": tiny.dumps(config), "mtp.safetensors": tiny.safetensors({"mtp.w": tiny.bf16("m", 2)})})
    statement = {"predicate": {"buildDefinition": {"externalParameters": {"spec": {"weights": spec}}}}}
    release.__dict__["document"] = statement
    problems_of(release)


@QUIET
@given(st.dictionaries(ODD | st.just("__metadata__"), JSON | st.builds(entry, st.sampled_from(["F32", "F4", "BOOL", "x"]), st.lists(st.integers(0, 4), max_size=3), st.integers(0, 20), st.integers(0, 20)), max_size=4),
       st.binary(max_size=40))  # fmt: skip
def test_any_header(tmp_path_factory, header, body):
    release = base(tmp_path_factory)
    problems_of(
        again(
            release,
            {"model.safetensors": raw(header, body), "adapter_model.safetensors": raw(header, body), INDEX: sharded()[INDEX] or b""},
        )
    )


MADE: dict[str, Any] = {}


def base(factory) -> Release:
    """One folder for all examples of this file."""
    if "release" not in MADE:
        MADE["release"] = opened(factory.mktemp("hostile"), sharded())
    return MADE["release"]


def timed(release: Release) -> float:
    start = time.perf_counter()
    problems_of(release)
    return time.perf_counter() - start


@pytest.mark.heavy
@pytest.mark.parametrize("make", ["folders", "groups", "names", "rows", "duplicates"])
def test_work_grows_with_the_bytes(tmp_path, make):
    """Many folders, shard groups, odd names, rows: no loop over one times the other."""
    one = tiny.safetensors({"model.w.weight": tiny.bf16("w", 2)})
    files: dict[str, bytes] = {
        "folders": lambda: {f"{n}/model.safetensors": one for n in range(3000)},
        "groups": lambda: {f"p{n}-00001-of-09999.safetensors": one for n in range(3000)},
        "names": lambda: {f"s{n}.safetensors": one for n in range(3000)},
        "rows": lambda: {INDEX: tiny.dumps({"metadata": {}, "weight_map": {f"w{n}": f"f{n}.safetensors" for n in range(100_000)}})},
        "duplicates": lambda: {f"model-{n:05d}-of-00300.safetensors": tiny.safetensors({f"w{k}": tiny.bf16("w", 1) for k in range(100)}) for n in range(1, 301)},
    }[make]()  # fmt: skip
    root = tiny.write(tmp_path / "release", {**tiny.model(), **files})
    assert timed(Release(root, verify_release.check_folder(root))) < 20
