"""spec: every fault of release.yaml at once, with file, line and pointer; what can't be done is refused by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from specs import COMMIT, DIGEST, LOCAL, MINIMAL, faults, folder, load, only, places, problems

import hubrelease
from hubrelease.errors import Exit, OutsideError, SpecError
from hubrelease.spec import FILE_NAME, override, shard_bytes

ROOT = Path(__file__).parent.parent


# --------------------------------------------------------------------------------------------------- all problems at once

MANY = """\
schema: 2
name: no-owner
versoin: 1.0.0
license: apache-2.0
sources:
  base_model: {hf: org/model, git: https://example.org/x}
  Tools: {folder: tools}
  image: {image: "python:3.12"}
weights:
  format: nvfp5
  source: bse_model
  max_shard_size: 5 gigabytes
side_files:
  omit:
    - {path: "*.bin", reason: old}
runtime:
  kind: vllm
  image: image
  packages: [torch, numpy==2.0.0]
benchmarks:
  - receipt: a.json
    as: results/a.json
card:
  locales: [de]
"""


def test_every_problem_is_told_at_once_with_file_line_and_pointer(tmp_path: Path) -> None:
    found = problems(tmp_path, MANY)
    assert set(places(found)) == {
        ("spec-invalid", FILE_NAME, 1, ""),  # version is missing
        ("spec-invalid", FILE_NAME, 1, "/schema"),
        ("spec-invalid", FILE_NAME, 2, "/name"),
        ("spec-unknown-key", FILE_NAME, 3, "/versoin"),
        ("source-invalid", FILE_NAME, 6, "/sources/base_model"),
        ("spec-invalid", FILE_NAME, 7, "/sources/Tools"),
        ("image-without-digest", FILE_NAME, 8, "/sources/image/image"),
        ("spec-invalid", FILE_NAME, 10, "/weights/format"),
        ("spec-invalid", FILE_NAME, 12, "/weights/max_shard_size"),
        ("spec-invalid", FILE_NAME, 15, "/side_files/omit/0/reason"),
        ("not-supported", FILE_NAME, 17, "/runtime/kind"),
        ("packages-unpinned", FILE_NAME, 19, "/runtime/packages/0"),
        ("spec-invalid", FILE_NAME, 22, "/benchmarks/0/as"),
        ("not-supported", FILE_NAME, 24, "/card/locales/0"),
    }
    assert [p.where.line for p in found] == sorted(p.where.line or 0 for p in found)


def test_one_fault_is_told_once(tmp_path: Path) -> None:
    assert len(problems(tmp_path, {**MINIMAL, "schema": "1"})) == 1
    assert len(problems(tmp_path, {**MINIMAL, "weights": {"format": 5}})) == 1


@pytest.mark.parametrize("key", ["schema", "name", "version", "license", "weights"])
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    found = only(problems(tmp_path, {k: v for k, v in MINIMAL.items() if k != key}))
    assert (found.message, found.where.pointer) == (f'"{key}" is missing', "")


def test_a_missing_inner_key_is_named_at_its_parent(tmp_path: Path) -> None:
    found = only(problems(tmp_path, {**MINIMAL, "waive": [{"code": "HR223"}]}))
    assert (found.message, found.where.pointer) == ('"reason" is missing', "/waive/0")


@pytest.mark.parametrize(
    ("wrong", "right", "at"),
    [
        ("licence", "license", lambda key: {**MINIMAL, key: "mit"}),
        ("wieghts", "weights", lambda key: {**MINIMAL, key: {}}),
        ("formt", "format", lambda key: {**MINIMAL, "weights": {"format": "as-is", key: "bf16"}}),
        ("revison", "revision", lambda key: {**MINIMAL, "sources": {"base_model": {"hf": "a/b", key: "main"}}}),
        ("colums", "columns", lambda key: {**MINIMAL, "card": {"tables": [{"title": "t", "columns": ["a"], "rows": [["x"]], key: []}]}}),
        ("pointr", "pointer", lambda key: {**MINIMAL, "card": {"tables": [{"title": "t", "columns": ["a"], "rows": [[{"pointer": "", key: ""}]]}]}}),
    ],
)  # fmt: skip
def test_an_unknown_key_is_refused_with_the_nearest(tmp_path: Path, wrong: str, right: str, at: Any) -> None:
    found = only(problems(tmp_path, at(wrong)))
    assert found.kind == "spec-unknown-key"
    assert f'"{wrong}"' in found.message
    assert right in found.mend
    assert str(found.where.pointer).endswith("/" + wrong)


def test_an_unknown_key_without_a_near_one_lists_those_that_are_known(tmp_path: Path) -> None:
    found = only(problems(tmp_path, {**MINIMAL, "xyzzy": 1}))
    assert all(key in found.message for key in ("name", "sources", "card", "waive"))


def test_a_value_of_a_closed_list_is_refused_with_the_nearest(tmp_path: Path) -> None:
    found = only(problems(tmp_path, {**MINIMAL, "weights": {"format": "fp8_blocks"}}))
    assert found.mend == 'write "fp8_block"'


@pytest.mark.parametrize("spec", ["", "# nothing\n", "[]", "just text", "null"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, spec: str) -> None:
    assert "mapping" in only(problems(tmp_path, spec)).message


def test_yaml_that_can_not_be_read_is_refused_with_its_line(tmp_path: Path) -> None:
    assert places(problems(tmp_path, "schema: 1\nname: a/b\nname: c/d\n")) == [("yaml-invalid", FILE_NAME, 3, None)]


@pytest.mark.parametrize("path", ["absent", "x" * 300, "release.yaml/x"])
def test_a_release_that_is_not_there_is_told_so(tmp_path: Path, path: str) -> None:
    folder(tmp_path, MINIMAL)
    with pytest.raises(SpecError) as caught:
        hubrelease.load_spec(tmp_path / path)
    assert only(list(caught.value.problems)).message == "does not exist"


@pytest.mark.parametrize(
    ("there", "mend"),
    [("release.yml", "rename release.yml"), ("MODEL_PROVENANCE.json", "build again"), ("config.json", "hubrelease init")],
)
def test_what_lies_there_instead_says_how_to_mend(tmp_path: Path, there: str, mend: str) -> None:
    (tmp_path / there).write_text("{}")
    with pytest.raises(SpecError) as caught:
        hubrelease.load_spec(tmp_path)
    found = only(list(caught.value.problems))
    assert (found.where.file, found.where.line) == (str(tmp_path / FILE_NAME), None)
    assert mend in found.mend


@pytest.mark.parametrize(
    ("changes", "mend"),
    [
        ({"schema": 2}, "write 1"),
        ({"card": {"model_index": "true"}}, "write true, without quotes"),
        ({"weights": "nvfp4a16"}, "write a mapping with format"),
    ],
)
def test_a_mend_is_what_to_write(tmp_path: Path, changes: dict[str, Any], mend: str) -> None:
    assert any(mend in p.mend for p in problems(tmp_path, {**MINIMAL, **changes}))


def test_the_version_of_the_format_is_told_where_it_is_missing(tmp_path: Path) -> None:
    found = only(problems(tmp_path, {key: value for key, value in MINIMAL.items() if key != "schema"}))
    assert "add it: schema: 1" in found.mend


def test_a_pointer_cut_by_a_comma_is_told_as_such(tmp_path: Path) -> None:
    figure = "{receipt: benchmarks/r.json, pointer: /results/gsm8k/exact_match,strict-match}"
    found = only(problems(tmp_path, json.dumps(MINIMAL)[:-1] + f', "card": {{figures: {{a: {figure}}}}}}}'))
    assert found.kind == "spec-unknown-key"
    assert "quotes" in found.mend


def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(SpecError) as caught:
        hubrelease.load_spec(tmp_path)
    assert only(list(caught.value.problems)).message == "is not a file"


def test_a_file_that_can_not_be_read_is_not_called_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, MINIMAL)
    monkeypatch.setattr("builtins.open", lambda *a, **k: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(OutsideError) as caught:
        hubrelease.load_spec(tmp_path)
    assert caught.value.exit == Exit.OUTSIDE


# ---------------------------------------------------------------------------------------------------- values as written


def test_text_stays_as_it_was_written(tmp_path: Path) -> None:
    spec = load(tmp_path, "schema: 1\nname: 1.0/2.10\nversion: 1.10\nlicense: mit\nweights: {format: as-is}\n"
                          "sources: {base_model: {hf: 0123/456, revision: 0123456789012345678901234567890123456789}}\n"
                          "card: {language: no, tags: [on, 1_000, 2024-01-01, ~]}\n")  # fmt: skip
    assert (spec.name, spec.version, spec.sources[0].revision) == ("1.0/2.10", "1.10", "0123456789" * 4)
    assert (spec.card["language"], spec.card["tags"]) == ("no", ["on", "1_000", "2024-01-01", "~"])
    assert spec.sources[0].locator == "0123/456"


@pytest.mark.parametrize(
    ("size", "value"),
    [("5GB", 5 * 10**9), ("1.5 GB", 15 * 10**8), ("2GiB", 2**31), ("100B", 100), ("0.1B", 1), (7, 7), ("9007199254740993B", None),
     ("0.000000001TB", 1000), ("123456789012345B", 123456789012345)],
)  # fmt: skip
def test_sizes_are_exact(tmp_path: Path, size: str | int, value: int | None) -> None:
    asked = {**MINIMAL, "weights": {"format": "as-is", "max_shard_size": size}}
    if value is None:
        problems(tmp_path, asked)
    else:
        assert load(tmp_path, asked).weights.max_shard_bytes == value == shard_bytes(size)


@pytest.mark.parametrize("size", ["0GB", "0", 0, -1, "5 gb", "5GB\n", "GB", "-1GB", "1e9B", "9" * 400 + "GB", "true", True, None])
def test_sizes_that_are_none_are_refused(tmp_path: Path, size: object) -> None:
    assert {p.where.pointer for p in problems(tmp_path, {**MINIMAL, "weights": {"format": "as-is", "max_shard_size": size}})} == {
        "/weights/max_shard_size"
    }


def test_a_size_from_the_command_line_is_held_to_the_same_rule(tmp_path: Path) -> None:
    spec = load(tmp_path, MINIMAL)
    assert override(spec, max_shard_size="5GB").document["weights"]["max_shard_size"] == "5GB"
    with pytest.raises(SpecError):
        override(spec, max_shard_size="5 gigabytes")


@pytest.mark.parametrize(
    "value",
    [
        {"name": "owner/tiny\n"},
        {"version": "1.0\n"},
        {"license": "mit\n"},
        {"runtime": {"kind": "verify", "image": "a", "python": "3.12\n"}},
    ],
    ids=repr,
)
def test_a_pattern_holds_to_the_very_end_of_the_text(tmp_path: Path, value: dict[str, Any]) -> None:
    assert problems(tmp_path, {**MINIMAL, **value})


# ------------------------------------------------------------------------------------------------------------- sources

GOOD_SOURCES: list[dict[str, Any]] = [
    {"hf": "org/model"}, {"hf": "org/model", "revision": "refs/pr/1", "path": "sub", "files": ["*.json"]}, {"hf": "o/m", "revision": COMMIT},
    {"git": "https://example.org/x.git"}, {"git": "ssh://git@example.org/x"}, {"git": "file:///srv/x", "revision": "v1"},
    {"folder": "base"}, {"folder": "../shared/base", "path": "sub"}, {"folder": "."}, {"pypi": "some.pkg==1.0+cu12"},
    {"pypi": "pkg==1!2.0", "path": "pkg/model"}, {"image": f"docker.io/library/python:3.12@{DIGEST}"}, {"image": f"python@{DIGEST}"},
]  # fmt: skip
BAD_SOURCES: list[tuple[dict[str, Any], str]] = [
    ({}, "source-invalid"), ({"hf": "a/b", "folder": "c"}, "source-invalid"), ({"note": "nothing"}, "source-invalid"),
    ({"hf": "model"}, "spec-invalid"), ({"hf": "a/b/c"}, "spec-invalid"), ({"hf": "a/.."}, "spec-invalid"), ({"hf": "-a/b"}, "spec-invalid"),
    ({"hf": "a/b", "revision": ""}, "spec-invalid"), ({"hf": "a/b", "revision": "a b"}, "spec-invalid"),
    ({"hf": "a/b", "revision": "main\n"}, "spec-invalid"), ({"hf": "a/b", "files": []}, "spec-invalid"), ({"hf": "a/b", "files": [""]}, "spec-invalid"),
    ({"hf": "a/b", "path": "../x"}, "source-invalid"), ({"hf": "a/b", "path": "/x"}, "source-invalid"),
    ({"hf": "a/b", "files": ["../*"]}, "source-invalid"), ({"hf": "a/b", "files": ["a\\b"]}, "source-invalid"),
    ({"git": "git@example.org:x"}, "source-invalid"), ({"git": "http://example.org/x"}, "source-invalid"), ({"git": "../x"}, "source-invalid"),
    ({"git": "ext::sh -c id"}, "spec-invalid"), ({"git": "https://--upload-pack=x/y"}, "source-invalid"), ({"git": "x"}, "source-invalid"),
    ({"git": "https://user:secret@example.org/x"}, "source-invalid"), ({"git": "https://ghp_secret@example.org/x"}, "source-invalid"),
    ({"git": "https://u:p@ss@example.org/x"}, "source-invalid"), ({"git": "ssh://git:secret@example.org/x"}, "source-invalid"),
    ({"git": "https://example.org/x", "revision": "--upload-pack=x"}, "source-invalid"), ({"git": "https://example.org/a\nb"}, "spec-invalid"),
    ({"folder": "/srv/x"}, "source-invalid"), ({"folder": "~/x"}, "source-invalid"), ({"folder": "C:\\x"}, "source-invalid"),
    ({"folder": "\\\\host\\x"}, "source-invalid"), ({"folder": ""}, "spec-invalid"), ({"folder": "x", "revision": "main"}, "source-invalid"),
    ({"pypi": "pkg"}, "spec-invalid"), ({"pypi": "pkg>=1"}, "spec-invalid"), ({"pypi": "pkg==1 --index-url=x"}, "spec-invalid"),
    ({"pypi": "pkg==1", "revision": "main"}, "source-invalid"), ({"pypi": "pkg @ https://example.org/x"}, "spec-invalid"),
    ({"image": "python:3.12"}, "image-without-digest"), ({"image": "python@sha256:abc"}, "image-without-digest"),
    ({"image": f"Python@{DIGEST}"}, "image-without-digest"), ({"image": f"python@{DIGEST}\n"}, "image-without-digest"),
    ({"image": f"python@{DIGEST} RUN x"}, "image-without-digest"), ({"image": f"python@{DIGEST}", "revision": "x"}, "source-invalid"),
    ({"image": f"python@{DIGEST}", "path": "x"}, "source-invalid"), ({"image": f"python@{DIGEST}", "files": ["x"]}, "source-invalid"),
]  # fmt: skip


@pytest.mark.parametrize("source", GOOD_SOURCES, ids=repr)
def test_each_kind_of_source_is_read(tmp_path: Path, source: dict[str, Any]) -> None:
    (read,) = load(tmp_path, {**MINIMAL, "sources": {"base_model": source}}).sources
    assert source[read.kind] == read.locator


@pytest.mark.parametrize(("source", "kind"), BAD_SOURCES, ids=repr)
def test_each_kind_of_source_keeps_its_rules(tmp_path: Path, source: dict[str, Any], kind: str) -> None:
    found = problems(tmp_path, {**MINIMAL, "sources": {"base_model": source}})
    assert {p.kind for p in found} == {kind}
    assert all(str(p.where.pointer).startswith("/sources/base_model") for p in found)
    assert not any("secret" in p.message for p in found)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"weights": {"format": "as-is", "source": "bsae"}}, "/weights/source"),
        ({"side_files": {"source": "bsae"}}, "/side_files/source"),
        ({"adapter": {"source": "bsae", "base_model": "base_model"}}, "/adapter/source"),
        ({"adapter": {"source": "base_model", "base_model": "bsae"}}, "/adapter/base_model"),
        ({"files": [{"source": "bsae", "from": "a", "to": "b"}]}, "/files/0/source"),
        ({"weights": {"format": "nvfp4", "activation_scales": {"source": "bsae", "path": "x"}}}, "/weights/activation_scales/source"),
    ],
)
def test_a_name_of_no_source_is_refused_with_those_that_there_are(tmp_path: Path, change: dict[str, Any], pointer: str) -> None:
    found = only(problems(tmp_path, {**LOCAL, **change}))
    assert (found.kind, found.where.pointer) == ("source-unknown", pointer)
    assert "base_model" in found.message


def test_an_image_may_be_a_source_or_stand_by_itself_with_its_digest(tmp_path: Path) -> None:
    runtime = {"kind": "verify", "image": "img"}
    load(tmp_path, {**MINIMAL, "sources": {"img": {"image": f"a/b@{DIGEST}"}}, "runtime": runtime})
    load(tmp_path, {**MINIMAL, "runtime": {**runtime, "image": f"a/b@{DIGEST}"}})
    assert only(problems(tmp_path, {**MINIMAL, "runtime": runtime})).kind == "image-without-digest"


@pytest.mark.parametrize(
    "package", ["torch", "torch>=2", "torch==", "torch==2.*", "a==1;python_version<'3'", "--index-url=x", "a @ file:///x", "a==1\n"]
)
def test_packages_have_exact_versions(tmp_path: Path, package: str) -> None:
    found = problems(tmp_path, {**MINIMAL, "runtime": {"kind": "verify", "image": f"a@{DIGEST}", "packages": ["numpy==2.0.0", package]}})
    assert {p.where.pointer for p in found} == {"/runtime/packages/1"}


# --------------------------------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("path", ["/x", "../x", "a/../../x", "a\\b", ".", "", "./x", "a//b", "C:x", "a\nb", "/", "x" * 1100])
def test_paths_stay_in_the_release(tmp_path: Path, path: str) -> None:
    found = problems(tmp_path, {**MINIMAL, "files": [{"from": "a", "to": path}]})
    assert {p.where.pointer for p in found} == {"/files/0/to"}


def test_two_files_for_one_path_are_refused(tmp_path: Path) -> None:
    receipts = [{"receipt": "one/results.json"}, {"receipt": "two/results.json"}]
    found = only(problems(tmp_path, {**MINIMAL, "benchmarks": receipts}))
    assert (found.kind, found.where.pointer) == ("path-invalid", "/benchmarks/1/receipt")
    assert "/benchmarks/0/receipt" in found.message
    load(tmp_path, {**MINIMAL, "benchmarks": [receipts[0], {**receipts[1], "as": "benchmarks/second.json"}]})


# ------------------------------------------------------------------------------------------------------------ includes


def test_later_files_win_key_by_key_and_lists_are_replaced(tmp_path: Path) -> None:
    one = "version: 1.0.0\nlicense: mit\ncard: {title: one, summary: one, tags: [a, b]}\n"
    two = "license: apache-2.0\ncard: {title: two, tags: [c]}\n"
    spec = load(tmp_path, "include: [one.yaml, parts/two.yaml]\nschema: 1\nname: a/b\nweights: {format: as-is}\ncard: {title: own}\n",
                one__yaml=one, **{"parts/two.yaml": two})  # fmt: skip
    assert spec.document == {
        "schema": 1, "name": "a/b", "version": "1.0.0", "license": "apache-2.0", "weights": {"format": "as-is"},
        "card": {"title": "own", "summary": "one", "tags": ["c"]},
    }  # fmt: skip


def test_provenance_embeds_the_merged_value_without_include(tmp_path: Path) -> None:
    from hubrelease.lock import Lock
    from hubrelease.provenance import statement

    spec = load(tmp_path, {"include": ["one.yaml"], "name": "a/b"}, one__yaml={**MINIMAL, "name": "c/d"})
    embedded = json.loads(statement(spec, Lock(), []))["predicate"]["buildDefinition"]["externalParameters"]["spec"]
    assert embedded == {**MINIMAL, "name": "a/b"}


def test_included_files_may_include_and_are_read_once(tmp_path: Path) -> None:
    """Each of 16 files names the next one twice: 65,536 readings if each were read where it is named."""
    files = {f"f{n}.yaml": f"include: [f{n + 1}.yaml, f{n + 1}.yaml]\n" for n in range(14)}
    spec = load(tmp_path, "include: [f0.yaml]\nname: own/name\n", **files, **{"f14.yaml": json.dumps(MINIMAL)})
    assert spec.name == "own/name"


def test_a_problem_names_the_file_that_said_it(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        "include: [one.yaml, sub/two.yaml]\nschema: 1\nname: a/b\nweights:\n  format: as-is\n",
        one__yaml="\nversoin: 1\nlicense: mit\n",
        **{"sub/two.yaml": "\n\nweights:\n  max_shard_size: big\nsources:\n  base_model: {hf: broken}\n"},
    )
    assert set(places(found)) == {
        ("spec-invalid", FILE_NAME, 1, ""),
        ("spec-unknown-key", "one.yaml", 2, "/versoin"),
        ("spec-invalid", "sub/two.yaml", 4, "/weights/max_shard_size"),
        ("spec-invalid", "sub/two.yaml", 6, "/sources/base_model/hf"),
    }


def test_every_faulty_include_is_told_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        "include:\n  - absent.yaml\n  - /etc/passwd\n  - ../outside.yaml\n  - ~/x.yaml\n  - ''\n  - bad.yaml\n  - sub\n  - " + "x" * 300 + "\n",
        bad__yaml="a: 1\na: 2\n", **{"sub/x": ""},
    )  # fmt: skip
    rows = places(found)
    assert ("yaml-invalid", "bad.yaml", 2, None) in rows
    faults = [row for row in rows if row[0] == "include-fault"]
    assert [(line, pointer) for _, _, line, pointer in faults] == [(n + 2, f"/include/{n}") for n in (0, 1, 2, 3, 4, 6, 7)]


@pytest.mark.parametrize(
    "files",
    [
        {"a.yaml": "include: [a.yaml]\n"},
        {"a.yaml": "include: [b.yaml]\n", "b.yaml": "include: [a.yaml]\n"},
        {"a.yaml": "include: [./b.yaml]\n", "b.yaml": "include: ['.//./a.yaml']\n"},
        {"a.yaml": "include: [release.yaml]\n"},
    ],
    ids=["itself", "each other", "by other spellings", "the root"],
)
def test_a_circle_is_refused_and_shown(tmp_path: Path, files: dict[str, str]) -> None:
    found = only(problems(tmp_path, {**MINIMAL, "include": ["a.yaml"]}, **files))
    assert found.kind == "include-fault"
    assert "includes itself" in found.message
    assert "→" in found.message


def test_a_circle_through_a_link_is_refused(tmp_path: Path) -> None:
    folder(tmp_path, {**MINIMAL, "include": ["a.yaml"]}, a__yaml="include: [b.yaml]\n")
    (tmp_path / "b.yaml").symlink_to("a.yaml")
    with pytest.raises(SpecError, match="includes itself"):
        hubrelease.load_spec(tmp_path)


def test_a_chain_without_end_is_refused(tmp_path: Path) -> None:
    files = {f"f{n}.yaml": f"include: [f{n + 1}.yaml]\n" for n in range(100)}
    assert "more than 16 includes" in only(problems(tmp_path, {**MINIMAL, "include": ["f0.yaml"]}, **files)).message


def test_a_link_may_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text("version: 9\n")
    inside = folder(tmp_path / "in", {**MINIMAL, "include": ["link.yaml"]})
    (inside / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    with pytest.raises(SpecError, match="leaves the folder"):
        hubrelease.load_spec(inside)


@pytest.mark.parametrize("value", ["one.yaml", "{a: 1}", "[[one.yaml]]", "[{a: 1}]"])
def test_include_is_a_list_of_files(tmp_path: Path, value: str) -> None:
    assert "is not a list of files" in problems(tmp_path, f"include: {value}\nschema: 1\n")[0].message


def test_an_empty_include_changes_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, {**MINIMAL, "include": []}).document == MINIMAL


# -------------------------------------------------------------------------------------------------------------- hostile


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_specs_give_a_spec_or_a_refusal(tmp_path: Path, data: st.DataObject) -> None:
    """A piece of a real spec is cut out, doubled or replaced: Spec or ReleaseError, nothing else."""
    text = (ROOT / "examples" / "minilm" / FILE_NAME).read_text()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(["", "\n", ": ", "[]", "{}", "null", "-1", "1e999", "'", "../", "é", text[start:end] * 2]))
            + text[end:]
        )
    faults(lambda: load(tmp_path, text))


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just([]) | st.just({}) | st.just([{}])
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_value_of_another_type_gives_a_spec_or_a_refusal(tmp_path: Path, data: st.DataObject) -> None:
    spec = json.loads(json.dumps(FULL))
    at: Any = spec
    while True:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], (dict, list)) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(VALUES)
    faults(lambda: load(tmp_path, json.dumps(spec, ensure_ascii=False)))


FULL: dict[str, Any] = {
    **MINIMAL,
    "license_reason": "because it is a test", "license_text": "canonical", "notice": "NOTICE.txt",
    "sources": {
        "base_model": {"hf": "org/base", "revision": "main", "path": "sub", "files": ["**"], "license": "mit", "note": "a note"},
        "tools": {"git": "https://example.org/x", "revision": "v1"}, "img": {"image": f"python@{DIGEST}"}, "lora": {"folder": "lora"},
    },
    "weights": {"source": "base_model", "format": "as-is", "recipe": {"tool": "none"}, "max_shard_size": "5GB",
                "auxiliary": [{"path": "scales.safetensors", "purpose": "activation scales"}], "remote_code": "the model has its own code"},
    "side_files": {"source": "base_model", "omit": [{"path": "*.bin", "reason": "duplicates of the weights"}]},
    "adapter": {"source": "lora", "to": "adapter", "base_model": "base_model"},
    "files": [{"source": "tools", "from": "a.py", "to": "tools/a.py"}, {"from": "notes.md", "to": "docs/notes.md"}],
    "runtime": {"kind": "verify", "image": "img", "packages": ["numpy==2.0.0"], "python": "3.12", "platform": "manylinux_2_28_x86_64",
                "cuda": "12.9", "cuda_archs": ["12.0"], "compute_capabilities": ["12.0"], "expected_capabilities": ["10.0"]},
    "benchmarks": [{"receipt": "r.json", "as": "benchmarks/x.json", "of": "org/base", "note": "a note"}],
    "card": {"title": "t", "summary": "s", "language": ["en"], "tags": ["a"], "datasets": ["d/e"], "metrics": ["m"], "pipeline_tag": "p",
             "library_name": "l", "base_model": ["org/base"], "base_model_relation": "finetune", "thumbnail": "u",
             "tables": [{"title": "t", "note": "n", "measured_by": "upstream", "columns": ["a", "b"],
                         "rows": [["x", {"receipt": "benchmarks/x.json", "pointer": "/a", "decimals": 2, "as": "percent", "unit": "pp"}]]}],
             "text": {"usage": "u", "limits": "l"}},
    "publish": {"disclose": ["base_model"]},
    "waive": [{"code": "HR223", "file": "x", "reason": "left on purpose"}],
}  # fmt: skip


def test_a_spec_with_every_key_that_this_version_knows_is_read(tmp_path: Path) -> None:
    spec = load(tmp_path, FULL)
    assert spec.document == FULL
    assert spec.where("/card/tables/0/rows/0/1").line
