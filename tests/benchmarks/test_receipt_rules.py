"""What may stand in a receipt: the same rule beside release.yaml and in a release, each refusal with file and place."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import samples
import tiny
from cards import judged
from command_line import Cli
from specs import LOCAL, MINIMAL, folder, load, local

import hubrelease
from hubrelease import checker, evaluations
from hubrelease.errors import CheckFailed, Problem
from hubrelease.evaluations import MAX_VALUES
from hubrelease.receipts import read_all, warnings

NAN = {
    **samples.LM_EVAL,
    "results": {**samples.LM_EVAL["results"], "hellaswag": {"acc,none": float("nan"), "acc_stderr,none": float("inf")}},
}


def spec_of(root: Path, data: bytes | str | dict[str, Any] | list[Any], name: str = "r.json", **entry: str) -> Any:
    content = data if isinstance(data, bytes | str) else json.dumps(data)
    spec = load(root, {**MINIMAL, "benchmarks": [{"receipt": name, **entry}]})
    (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return spec


def refused(root: Path, data: Any, name: str = "r.json", **entry: str) -> list[Problem]:
    with pytest.raises(CheckFailed) as caught:
        read_all(spec_of(root, data, name, **entry))
    return list(caught.value.problems)


def table(pointer: str, **more: Any) -> dict[str, Any]:
    row = ["x", {"receipt": "benchmarks/r.json", "pointer": pointer, **more}]
    return {"tables": [{"title": "t", "columns": ["a", "b"], "rows": [row]}]}


# ---------------------------------------------------------------------------------------------------------------- no JSON


@pytest.mark.parametrize(
    ("data", "said", "mend"),
    [
        (b"\xef\xbb\xbf{}", "byte order mark", "UTF-8"),
        ("{}".encode("utf-16"), "UTF-16", "UTF-8"),
        ('{"a": 1}'.encode("utf-16-le"), "UTF-16", "UTF-8"),
        (b'{"a": "\xff"}', "no UTF-8, first at offset 7", "UTF-8"),
        (b'{"gsm8k": 1, "b": 0, "gsm8k": 2}', '"gsm8k" ', "doubled keys"),
        (b'{"a": 1}\n{"a": 2}\n', "Extra data", ".jsonl"),
        (b'{"a": 1,}', "Expecting property name", "JSON"),
    ],
)
def test_what_is_no_json_is_refused_with_its_reason(tmp_path: Path, data: bytes, said: str, mend: str) -> None:
    (found,) = refused(tmp_path / "spec", data)
    assert (found.code, found.where.file) == ("HR602", "r.json")
    assert said in found.message
    assert mend in found.mend
    kinds = {(p.kind, p.where.file) for p in judged(tmp_path / "release", receipts={"benchmarks/r.json": data})}
    assert ("receipt-unreadable", "benchmarks/r.json") in kinds


def test_what_is_no_json_at_all_is_pointed_to_figures(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, b"benchmark_time_seconds: 2.48\n", "inference-perf.yaml")
    assert "kind: figures" in found.mend


def test_two_hundred_megabytes_are_refused_unread(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, b"[")
    os.truncate(tmp_path / "r.json", 200 * 2**20)
    start = time.process_time()
    with pytest.raises(CheckFailed) as caught:
        read_all(spec)
    assert time.process_time() - start < 0.5
    assert "has 209,715,200 bytes" in caught.value.problems[0].message
    assert "samples" in caught.value.problems[0].mend


def test_more_values_than_memory_bears_are_refused(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, b"[" + b"{}," * MAX_VALUES + b"{}]")
    assert f"more than {MAX_VALUES:,} values" in found.message


def test_a_receipt_of_a_release_that_is_too_large_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluations, "MAX_RECEIPT_BYTES", 1000)
    (found,) = judged(tmp_path, receipts={"benchmarks/r.json": b"[1]" + b" " * 1000})
    assert (found.kind, found.severity, found.where.file) == ("receipt-unreadable", "warning", "benchmarks/r.json")


# --------------------------------------------------------------------------------------------------------- NaN and infinities


def test_nan_of_one_task_leaves_the_others_usable(tmp_path: Path, cli: Cli) -> None:
    root = local(
        tmp_path / "p",
        benchmarks=[{"receipt": "r.json"}],
        card=table("/results/gsm8k/exact_match,strict-match", **{"as": "percent", "decimals": 1}),
    )
    (root / "r.json").write_text(json.dumps(NAN))
    said = cli("card", "render", root)
    assert said.code == 0, said.err
    assert "42.0%" in said.out


@pytest.mark.parametrize(("pointer", "value"), [("/results/hellaswag/acc,none", "nan"), ("/results/hellaswag/acc_stderr,none", "inf")])
def test_a_figure_that_points_at_one_is_refused(tmp_path: Path, cli: Cli, pointer: str, value: str) -> None:
    root = local(tmp_path / "p", benchmarks=[{"receipt": "r.json"}], card=table(pointer))
    (root / "r.json").write_text(json.dumps(NAN))
    said = cli("card", "render", root, "--json")
    assert said.code == 1
    (found,) = said.problems
    assert found["kind"] == "figure-fault"
    assert "r.json" in found["message"]
    assert pointer in found["message"]


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "N/A", True, None, {"a": 1}])
def test_a_figure_that_points_at_something_in_a_numbers_place_is_refused(tmp_path: Path, cli: Cli, value: Any) -> None:
    root = local(tmp_path / "p", benchmarks=[{"receipt": "r.json"}], card=table("/v", unit="ms"))
    (root / "r.json").write_text(json.dumps({"v": value}))
    (found,) = cli("card", "render", root, "--json").problems
    assert (found["kind"], "benchmarks/r.json/v" in found["message"]) == ("figure-fault", True)


def test_a_figure_of_helm_is_found_by_the_task_that_the_file_beside_it_names(tmp_path: Path, cli: Cli) -> None:
    row = ["x", {"receipt": "benchmarks/t.stats.json", "task": "mmlu:subject=philosophy", "metric": "exact_match", "filter": "test"}]
    root = local(tmp_path / "p", benchmarks=[{"receipt": "t.stats.json"}, {"receipt": "t.run_spec.json"}],
                 card={"tables": [{"title": "t", "columns": ["a", "b"], "rows": [row]}]})  # fmt: skip
    (root / "t.stats.json").write_text(json.dumps(samples.HELM))
    (root / "t.run_spec.json").write_text(json.dumps(samples.HELM_RUN))
    said = cli("card", "render", root)
    assert said.code == 0, said.err
    assert "| x | 0.25 |" in said.out
    assert "Measured by HELM of org/tiny" in said.out


def test_html_and_template_syntax_in_names_is_text(tmp_path: Path, cli: Cli) -> None:
    row = {"name": "<script>alert(1)</script>{{ 7 * 7 }}{% raw %}", "value": 12.5, "unit": "<b>ms</b>"}
    root = local(tmp_path / "p", benchmarks=[{"receipt": "r.json"}], card=table("/rows/0/name"))
    (root / "r.json").write_text(json.dumps({**samples.FIGURES, "model": "<img src=x onerror=y>", "rows": [row]}))
    said = cli("card", "render", root)
    assert said.code == 0, said.err
    assert "<script" not in said.out
    assert "<img" not in said.out
    assert "49" not in said.out.replace(samples.COMMIT, "")


def test_check_and_build_find_them_until_they_are_waived_and_the_bytes_stay(tmp_path: Path) -> None:
    root = local(tmp_path / "p", benchmarks=[{"receipt": "r.json"}])
    data = json.dumps(NAN, indent=3).encode() + b"\n"
    (root / "r.json").write_bytes(data)
    found = [p for p in checker.check(root) if p.severity == "error"]
    assert {(p.code, p.where.file, p.where.pointer) for p in found} == {
        ("HR611", "r.json", "/results/hellaswag/acc,none"), ("HR611", "r.json", "/results/hellaswag/acc_stderr,none"),
    }  # fmt: skip
    with pytest.raises(CheckFailed) as caught:
        hubrelease.build(hubrelease.load_spec(root), tmp_path / "out")
    assert {p.code for p in caught.value.problems if p.severity == "error"} == {"HR611"}
    waived = json.loads((root / "release.yaml").read_text()) | {
        "waive": [{"code": "HR611", "file": "benchmarks/r.json", "reason": "that task diverges; it is not shown"}]
    }
    (root / "release.yaml").write_text(json.dumps(waived))
    assert {p.severity for p in checker.check(root)} == {"warning"}
    hubrelease.build(hubrelease.load_spec(root), tmp_path / "out")
    assert (tmp_path / "out" / "benchmarks" / "r.json").read_bytes() == data


def test_a_rate_without_limit_is_a_warning(tmp_path: Path) -> None:
    line = json.dumps({**samples.SGLANG, "server_info": {"model_path": tiny.NAME}, "request_rate": float("inf")}).encode()
    (found,) = judged(tmp_path, receipts={"benchmarks/a.jsonl": line + b"\n"})
    assert (found.kind, found.severity, found.where.pointer) == ("results-non-finite", "warning", "/0/request_rate")


def test_a_receipt_of_our_own_has_none(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, {**samples.FIGURES, "rows": [{"name": "x", "value": float("nan"), "unit": ""}]})
    assert (found.code, found.where.pointer) == ("HR602", "/rows/0/value")


def test_cells_of_a_receipt_with_nan_are_still_held_against_the_card(tmp_path: Path) -> None:
    spec = {"benchmarks": [{"receipt": "r.json"}], "card": table("/results/gsm8k/exact_match,strict-match")}
    body = "## t\n\n| a | b |\n|---|---|\n| x | 0.47 |"
    found = judged(
        tmp_path,
        receipts={"benchmarks/r.json": json.dumps({**NAN, "config": {"model_args": f"pretrained={tiny.NAME}"}}).encode()},
        spec=spec,
        body=body,
    )
    assert "card-number" in {p.kind for p in found}


# ------------------------------------------------------------------------------------------------------------------ its kind


def test_a_receipt_of_two_kinds_is_refused_until_one_is_said(tmp_path: Path) -> None:
    both = {**samples.LM_EVAL, "config_general": {"model_name": "org/tiny"}}
    (found,) = refused(tmp_path / "a", both)
    assert (found.code, found.message) == ("HR605", "can be a receipt of lighteval and of lm_eval")
    assert read_all(spec_of(tmp_path / "b", both, kind="lm_eval"))
    assert read_all(spec_of(tmp_path / "c", both, kind="plain"))


def test_a_receipt_that_is_not_of_the_kind_that_is_said_is_refused(tmp_path: Path) -> None:
    (found,) = refused(tmp_path / "a", samples.VLLM, kind="sglang")
    assert (found.code, found.where.pointer) == ("HR605", "/benchmarks/0/kind")
    assert "it is one of vllm" in found.message
    (found,) = refused(tmp_path / "b", {"score": 1}, kind="figures")
    assert "fits no kind that is known" in found.message


def test_any_json_can_be_pointed_into_with_a_warning_that_can_be_answered(tmp_path: Path) -> None:
    spec = spec_of(tmp_path / "a", {"score": 0.5})
    (found,) = warnings(spec, read_all(spec))
    assert (found.code, found.severity, found.where.file) == ("HR605", "warning", "r.json")
    assert "kind: figures" in found.mend
    plain = spec_of(tmp_path / "b", {"score": 0.5}, kind="plain")
    assert not list(warnings(plain, read_all(plain)))


def test_check_and_build_warn_of_json_that_no_adapter_knows(tmp_path: Path, cli: Cli) -> None:
    root = local(tmp_path / "p", benchmarks=[{"receipt": "r.json"}])
    (root / "r.json").write_text('{"score": 0.5}')
    for words in (("check", root), ("build", root, "--out", tmp_path / "out")):
        said = cli(*words)
        assert said.code == 0
        assert "HR605" in said.out + said.err


@pytest.mark.parametrize("kind", [kind for kind in samples.ALL if kind not in ("helm", "mteb")])
def test_receipts_of_a_known_kind_have_no_warning(tmp_path: Path, kind: str) -> None:
    for number, value in enumerate(samples.ALL[kind]):
        spec = spec_of(tmp_path / str(number), value, kind=kind)
        assert not list(warnings(spec, read_all(spec)))


def test_a_figure_that_stands_twice_is_told(tmp_path: Path) -> None:
    row = {"name": "TTFT", "value": 1, "unit": "ms"}
    spec = spec_of(tmp_path, {**samples.FIGURES, "rows": [row, {**row, "value": 2}]})
    (found,) = warnings(spec, read_all(spec))
    assert found.message == "gives value of TTFT 2 times"


@pytest.mark.parametrize(
    ("change", "pointer", "said"),
    [
        ({"rows": [{"name": "x", "value": "12 ms", "unit": "ms"}]}, "/rows/0/value", 'is "12 ms", must be a number'),
        ({"rows": [{"name": "x", "value": 12}]}, "/rows/0", '"unit" is missing'),
        ({"rows": []}, "/rows", "must not be empty"),
        ({"revision": "main"}, "/revision", "a commit of 40 hex digits"),
        ({"schemaVersion": 2}, "/schemaVersion", "must be 1"),
    ],
)
def test_a_malformed_receipt_of_figures_is_refused_with_its_pointer(
    tmp_path: Path, change: dict[str, Any], pointer: str, said: str
) -> None:
    (found,) = refused(tmp_path, {**samples.FIGURES, **change})
    assert (found.code, found.where.file, found.where.pointer) == ("HR605", "r.json", pointer)
    assert said in found.message


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    root = folder(tmp_path, {**LOCAL, "benchmarks": [{"receipt": "a.json"}, {"receipt": "b.json", "kind": "vllm"}, {"receipt": "c.json"}]},
                  a__json="{", b__json=samples.SGLANG, c__json={**samples.FIGURES, "model": 1})  # fmt: skip
    found = [(p.code, p.where.file) for p in checker.check(root) if p.code != "HR201" and p.kind.startswith("receipt")]
    assert found == [("HR602", "a.json"), ("HR605", "release.yaml"), ("HR605", "c.json")]
