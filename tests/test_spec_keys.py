"""The schema of release.yaml: valid, closed, and without a key that has no effect. What can't be done yet is refused by name."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
import tiny_upstream
from jsonschema import Draft202012Validator
from specs import COMMIT, DIGEST, LOCAL, MINIMAL, folder, load, only, problems

import hubrelease
from hubrelease import resources
from hubrelease.lock import packages_request, request_of
from hubrelease.spec import LATER, Spec

ROOT = Path(__file__).parent.parent
SCHEMA = resources.schema("release")
FREE = {"/weights/recipe", "/weights/options", "/validation/limits", "/validation/checks/*"}  # objects of any form: shown whole, or refused


def walk(schema: dict[str, Any], at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(pointer, schema) of every value that release.yaml can hold; `*` stands for an index or a free name."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    yield at, schema
    for key, inner in schema.get("properties", {}).items():
        yield from walk(inner, f"{at}/{key}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from walk(inner, f"{at}/*")


def objects() -> dict[str, dict[str, Any]]:
    return {at: schema for at, schema in walk(SCHEMA) if "object" in schema["type"]}


FIGURE = re.compile(r"/card/(eval_results/\*/figure|tables/\*/(rows/\*/\*|each/cells/\*)(/\*)?|figures/\*)(/of/\*|/published)?/(\w+)")


def folded(at: str) -> str:
    """A key of a figure, wherever figures can stand, as /figure/KEY."""
    found = FIGURE.fullmatch(at)
    return f"/figure/{found[5]}" if found else at


def leaves() -> set[str]:
    """Every key that is not just the place of other keys."""
    return {folded(at) for at in leaves_anywhere()}


def leaves_anywhere() -> set[str]:
    return {at for at, schema in walk(SCHEMA) if at and not at.endswith("/*") and not schema.get("properties") and not deeper(schema)} | {
        at for at in FREE if at in ("/weights/recipe", "/weights/options", "/validation/limits")
    }


def deeper(schema: dict[str, Any]) -> bool:
    """True for lists of objects: their keys are the leaves."""
    return any("properties" in inner for _, inner in list(walk(schema))[1:])


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_object_forbids_unknown_keys() -> None:
    open_ones = {at for at, schema in objects().items() if "additionalProperties" not in schema}
    assert open_ones == FREE
    for at, schema in objects().items():
        assert at in FREE or schema["additionalProperties"] is False or isinstance(schema["additionalProperties"], dict)


def test_every_pattern_has_its_form_in_words() -> None:
    for at, schema in walk(SCHEMA):
        assert "pattern" not in schema or "x-form" in schema, at


# ------------------------------------------------------------------------------------------------- each key has an effect

ASKED: dict[str, Any] = {
    **LOCAL,
    "sources": {"base_model": {"folder": "base", "license": "apache-2.0", "note": "a note"}},
    "weights": {"format": "as-is"},
    "benchmarks": [{"receipt": "r.json"}],
    "files": [{"from": "notes.md", "to": "docs/notes.md"}],
    "runtime": {"kind": "verify", "image": f"python@{DIGEST}"},
    "card": {
        "figures": {"x": {"receipt": "benchmarks/r.json", "pointer": "/c"}},
        "tables": [{"title": "t", "columns": ["a", "b"], "rows": [["x", {"receipt": "benchmarks/r.json", "pointer": "/a"}]]}],
    },
}
ROW = "/card/tables/0/rows/0/1"
CARD: dict[str, tuple[str, Any]] = {  # key → where to put what, so that the card changes
    "/license": ("/license", "mit"), "/license_name": ("/license_name", "own"), "/license_link": ("/license_link", "LICENSE"),
    "/name": ("/name", "owner/other"), "/license_reason": ("/license_reason", "because of the base"),
    "/sources/*/note": ("/sources/base_model/note", "another"), "/sources/*/license": ("/sources/base_model/license", "mit"),
    "/weights/format": ("/weights/format", "bf16"), "/weights/recipe": ("/weights/recipe", {"tool": "none"}),
    "/weights/auxiliary/*/path": ("/weights/auxiliary", [{"path": "scales.safetensors", "purpose": "activation scales"}]),
    "/weights/auxiliary/*/purpose": ("/weights/auxiliary", [{"path": "scales.safetensors", "purpose": "other scales"}]),
    "/weights/remote_code": ("/weights/remote_code", "it has code of its own"),
    "/side_files/omit/*/path": ("/side_files", {"omit": [{"path": "chat_template.jinja", "reason": "is not for chat"}]}),
    "/side_files/omit/*/reason": ("/side_files", {"omit": [{"path": "chat_template.jinja", "reason": "was not trained"}]}),
    "/runtime/cuda": ("/runtime/cuda", "12.9"), "/runtime/cuda_archs": ("/runtime/cuda_archs", ["12.0"]),
    "/runtime/compute_capabilities": ("/runtime/compute_capabilities", ["12.0"]),
    "/runtime/expected_capabilities": ("/runtime/expected_capabilities", ["10.0"]),
    "/benchmarks/*/of": ("/benchmarks/0/of", "org/base"), "/benchmarks/*/note": ("/benchmarks/0/note", "a note"),
    **{f"/card/{key}": (f"/card/{key}", "xx") for key in ("title", "summary", "language", "pipeline_tag", "library_name", "thumbnail", "base_model")},
    **{f"/card/{key}": (f"/card/{key}", ["xx"]) for key in ("tags", "datasets", "metrics")},
    "/card/base_model_relation": ("/card/base_model_relation", "merge"), "/card/text": ("/card/text", {"usage": "so"}),
    "/card/template": ("/card/template", "own.j2"),
    "/card/tables/*/title": ("/card/tables/0/title", "other"), "/card/tables/*/note": ("/card/tables/0/note", "other"),
    "/card/tables/*/measured_by": ("/card/tables/0/measured_by", "upstream"), "/card/tables/*/columns": ("/card/tables/0/columns", ["c", "d"]),
    "/card/tables/*/section": ("/card/tables/0/section", "performance"), "/card/locales": ("/card/locales", ["ko"]),
    "/card/locales_in": ("/card", {"locales": ["en", "ko"], "locales_in": "one"}), "/card/free_text": ("/card/free_text", ["usage"]),
    "/figure/receipt": (ROW, {"receipt": "benchmarks/r.json", "pointer": "/b"}), "/figure/pointer": (ROW, {"receipt": "benchmarks/r.json", "pointer": "/c"}),
    "/figure/payload": (ROW, {"payload": "weights", "pointer": "/tensors"}), "/figure/lock": (ROW, {"lock": "base_model", "pointer": "/revision"}),
    "/figure/spec": (ROW, {"spec": True, "pointer": "/version"}), "/figure/figure": (ROW, {"figure": "x"}), "/figure/decimals": (f"{ROW}/decimals", 1),
    "/figure/as": (f"{ROW}/as", "percent"), "/figure/unit": (f"{ROW}/unit", "ms"), "/figure/from": (f"{ROW}/from", "ms"), "/figure/sign": (f"{ROW}/sign", True),
    "/figure/compute": (ROW, {"compute": "sum", "of": ["x", "x"]}), "/figure/words": (ROW, {"words": {"en": "some words"}}),
    "/figure/rounded": (ROW, {"compute": "product", "of": [{"receipt": "benchmarks/r.json", "pointer": "/a", "decimals": 1}, "x"], "rounded": True}),
    "/figure/key": ("/card/tables/0", {"title": "t", "columns": ["k"], "each": {"receipt": "benchmarks/r.json", "cells": [{"key": True}]}}),
}  # fmt: skip
HARNESS = {  # what needs receipts of a harness, or several: key → the tests that see its effect
    **dict.fromkeys(("/figure/task", "/figure/metric", "/figure/filter", "/card/stated"), "test_cards_figures"),
    "/card/tables/*/decisions": "test_cards_decisions",
    **{at: "test_cards_tables" for at in leaves() if at.startswith(("/card/tables/*/compare/", "/card/tables/*/each/"))},
    **{at: "test_cards_released" for at in leaves() if at.startswith(("/card/model_index/", "/card/eval_results/"))},
}
REQUEST: dict[str, tuple[str, Any]] = {  # so that the lock has to be pinned anew
    "/sources/*/hf": ("/sources/base_model", {"hf": "a/b"}), "/sources/*/git": ("/sources/base_model", {"git": "https://example.org/x"}),
    "/sources/*/pypi": ("/sources/base_model", {"pypi": "a==1"}), "/sources/*/image": ("/sources/img", {"image": f"a@{DIGEST}"}),
    "/sources/*/folder": ("/sources/base_model", {"folder": "other"}), "/sources/*/revision": ("/sources/base_model", {"hf": "a/b", "revision": COMMIT}),
    "/sources/*/path": ("/sources/base_model/path", "sub"), "/sources/*/files": ("/sources/base_model/files", ["*.json"]),
    "/runtime/packages": ("/runtime/packages", ["numpy==2.0.0"]),
    "/runtime/python": ("/runtime", {"kind": "verify", "image": f"a@{DIGEST}", "packages": ["numpy==2.0.0"], "python": "3.13"}),
    "/runtime/platform": ("/runtime", {"kind": "verify", "image": f"a@{DIGEST}", "packages": ["numpy==2.0.0"], "platform": "win_amd64"}),
}  # fmt: skip
FILES: dict[str, tuple[str, Any]] = {  # so that files of the release change, other than the card and the embedded spec
    "/version": ("/version", "2.0.0"), "/license_text": ("/license_text", "text.txt"), "/notice": ("/notice", "text.txt"),
    "/weights/max_shard_size": ("/weights/max_shard_size", "1kB"), "/files/*/from": ("/files/0/from", "text.txt"),
    "/files/*/to": ("/files/0/to", "docs/other.md"), "/benchmarks/*/receipt": ("/benchmarks/0/receipt", "s.json"),
    "/benchmarks/*/as": ("/benchmarks/0/as", "benchmarks/other.json"), "/runtime/image": ("/runtime/image", f"other@{DIGEST}"),
    "/files/*/source": ("/files/0", {"source": "base_model", "from": "config.json", "to": "docs/notes.md"}),
    "/runtime/kind": ("/runtime", None),
    "/validation/takes": ("/validation", {"takes": ["chat"]}), "/validation/checks": ("/validation", {"checks": [{"name": "a", "kind": "completion", "prompt": "b"}]}),
    "/validation/suite": ("/validation", {"suite": "own.json"}), "/validation/limits": ("/validation", {"limits": {"start_s": 5}}),
    "/validation/not_required/*/check": ("/validation", {"not_required": [{"check": "load", "reason": "is a test"}]}),
    "/validation/not_required/*/reason": ("/validation", {"not_required": [{"check": "load", "reason": "is another"}]}),
    "/validation/long_prompts": ("/validation", {"takes": ["long"], "long_prompts": [64]}), "/validation/latency_tokens": ("/validation", {"latency_tokens": [9]}),
    "/validation/soak_s": ("/validation", {"soak_s": 1}),
}  # fmt: skip
ELSEWHERE = {  # what needs more than a folder of a few kilobytes
    "/schema": "the version of the format", "/include": "other files", "/weights/source": "which source", "/side_files/source": "which source",
    "/weights/include": "a conversion", "/weights/exclude": "a conversion", "/weights/options": "a conversion",
    "/weights/activation_scales/source": "a conversion", "/weights/activation_scales/path": "a conversion",
    "/adapter/source": "an adapter and its base on the Hub", "/adapter/to": "an adapter", "/adapter/base_model": "an adapter",
    "/publish/disclose": "a private repository", "/benchmarks/*/kind": "a receipt of that kind", "/waive/*/code": "a finding", "/waive/*/file": "a finding", "/waive/*/reason": "a finding",
    **{at: "matplotlib: tests/plots" for at in leaves() if at.startswith("/card/plots/")},
}  # fmt: skip


def refused() -> set[str]:
    """Keys that are refused by name, with all that lies below them."""
    return {at for at in leaves() if any(at == later or at.startswith(later + "/") for later in LATER)}


def test_every_key_has_an_effect_or_is_refused() -> None:
    known = [set(CARD), set(REQUEST), set(FILES), set(ELSEWHERE), set(HARNESS), refused()]
    assert set().union(*known) == leaves()
    assert sum(map(len, known)) == len(leaves())


def changed(pointer: str, value: Any) -> dict[str, Any]:
    """ASKED with `value` at `pointer`; None takes the key away."""
    spec = copy.deepcopy(ASKED)
    at: Any = spec
    *path, last = [int(step) if step.isdigit() else step for step in pointer.split("/")[1:]]
    for step in path:
        at = at[step]
    if value is None:
        del at[last]
    elif isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
    return spec


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ASKED, pinned, and its release in `out` beside it."""
    root = folder(tmp_path_factory.mktemp("keys") / "project", ASKED, r__json='{"a": 0.125, "b": 2, "c": 3}', s__json='{"a": 1}',
                  notes__md="notes", text__txt="Some text.\n", own__json='{"schemaVersion": 1, "requests": []}', own__j2="# own {{ tables[0].title }} {{ front_matter }}")  # fmt: skip
    tiny.write(root / "base", tiny_upstream.base())
    spec = hubrelease.load_spec(root)
    hubrelease.pin(spec)
    hubrelease.build(spec, root.parent / "out")
    return root


def asked_otherwise(made: Path, pointer: str, value: Any) -> Spec:
    return load(made, changed(pointer, value))


@pytest.mark.parametrize("key", CARD)
def test_the_card_shows_it(made: Path, key: str) -> None:
    out = made.parent / "out"
    hubrelease.pin(load(made, ASKED))
    before = hubrelease.render_card(load(made, ASKED), tree=out)
    spec = asked_otherwise(made, *CARD[key])
    if key == "/sources/*/license":
        hubrelease.pin(spec)
    assert hubrelease.render_card(spec, tree=out) != before


@pytest.mark.parametrize("key", REQUEST)
def test_the_lock_has_to_be_pinned_anew(made: Path, key: str) -> None:
    def request(spec: Spec) -> Any:
        return [request_of(source) for source in spec.sources], packages_request(spec)

    assert request(asked_otherwise(made, *REQUEST[key])) != request(load(made, ASKED))


@pytest.mark.parametrize("key", FILES)
def test_the_release_holds_other_files(made: Path, tmp_path: Path, key: str) -> None:
    pointer, value = FILES[key]
    spec = changed(pointer, value)
    if pointer.startswith("/benchmarks"):
        del spec["card"]  # its figure is of the receipt that ASKED has
    hubrelease.build(load(made, spec), tmp_path / "out")
    assert inside(tmp_path / "out") != inside(made.parent / "out")


def inside(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in tiny.files_of(root).items() if name not in ("README.md", tiny.PROVENANCE)}


VALUES: dict[str, Any] = {
    "/adapter/name": "x",
    "/publish/sha256sums": False, "/publish/manifest": True, "/publish/repo_id": "a/b", "/publish/private": True, "/publish/unvalidated": "no GPU here",
}  # fmt: skip


@pytest.mark.parametrize("pointer", LATER)
def test_what_a_later_version_will_do_is_refused_by_name(tmp_path: Path, pointer: str) -> None:
    top, *below = pointer.split("/")[1:]
    parts = {"weights": {"format": "as-is"}, "adapter": {"source": "base_model"}}
    value = {**parts.get(top, {}), below[0]: VALUES[pointer]} if below else VALUES[pointer]
    found = only(problems(tmp_path, {**LOCAL, top: value}))
    assert (found.kind, found.where.pointer) == ("not-supported", pointer)
    assert "not supported by this version" in found.message


@pytest.mark.parametrize(
    ("key", "value"), [("include", ["*"]), ("exclude", ["lm_head"]), ("options", {"a": 1}), ("activation_scales", {"path": "x"})]
)
@pytest.mark.parametrize("format", ["as-is", "bf16"])
def test_what_speaks_of_a_conversion_is_refused_where_nothing_is_converted(tmp_path: Path, format: str, key: str, value: Any) -> None:
    found = only(problems(tmp_path, {**MINIMAL, "weights": {"format": format, key: value}}))
    assert (found.kind, found.where.pointer) == ("not-supported", f"/weights/{key}")


def test_converting_and_re_sharding_at_once_is_refused_by_name(tmp_path: Path) -> None:
    found = only(problems(tmp_path, {**MINIMAL, "weights": {"format": "fp8_block", "max_shard_size": "5GB"}}))
    assert (found.kind, found.where.pointer) == ("not-supported", "/weights/max_shard_size")


# ----------------------------------------------------------------------------------------------------------- examples


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*/release.yaml")), ids=lambda p: p.parent.name)
def test_an_example_names_the_schema_for_editors_and_is_good(file: Path) -> None:
    first = file.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (file.parent / first.split("=", 1)[1]).resolve() == (ROOT / "schemas" / "release.schema.json").resolve()
    assert hubrelease.load_spec(file).name


def test_the_schema_takes_the_examples_as_any_validator_sees_them() -> None:
    for file in sorted((ROOT / "examples").glob("*/release.yaml")):
        document = json.loads(json.dumps(hubrelease.load_spec(file).document))
        assert list(Draft202012Validator(SCHEMA).iter_errors(document)) == []
