"""`decisions: FILE` in card.tables: the four tables of a paired report, every figure with its pointer, in the card's languages."""

from __future__ import annotations

import copy
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from specs import MINIMAL, faults, load, only, problems

from hubrelease.cards import Rendered, rendered
from hubrelease.facts import Facts, resolve
from hubrelease.lock import Lock
from hubrelease.phrases import catalogue

NAME = "benchmarks/d.json"
EXAMPLE = Path(__file__).parent.parent / "examples" / "random-decisions-h200"
MEASURED: dict[str, Any] = json.loads((EXAMPLE / "benchmarks" / "decisionbench-full.json").read_text("utf-8"))


def report(**changed: Any) -> dict[str, Any]:
    """The real report with values in other places: baseline__run__profile=…"""
    value = copy.deepcopy(MEASURED)
    for path, new in changed.items():
        *steps, last = path.split("__")
        place: Any = value
        for step in steps:
            place = place[int(step) if step.isdigit() else step]
        place[int(last) if last.isdigit() else last] = new
    return value


def facts(root: Path, value: Any = None, card: dict[str, Any] | None = None, **table: Any) -> Facts:
    card = {"tables": [{"decisions": NAME, **table}], **(card or {})}
    spec = {**MINIMAL, "benchmarks": [{"receipt": "d.json"}], "card": card}
    return Facts(load(root, spec), Lock(), {NAME: MEASURED if value is None else value}, None)


def made(root: Path, value: Any = None, card: dict[str, Any] | None = None, **table: Any) -> Rendered:
    return rendered(facts(root, value, card, **table))


def tables_of(text: str) -> dict[str, list[str]]:
    """{heading: lines} of the parts below a third-level heading that hold a table; without its rule."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^### ", text, flags=re.M)[1:]:
        heading, *lines = part.split("\n")
        found[heading] = [line for line in lines if line.startswith("| ")]
    return {heading: lines for heading, lines in found.items() if lines}


def test_a_paired_report_makes_four_tables(tmp_path: Path) -> None:
    assert tables_of(made(tmp_path).text) == {
        "Answers and calibration": [
            "| profile | correct | accuracy | ECE | mean NLL | mean latency |",
            "| bf16 | 79/252 | 31.349% | 0.434824 | 2.490620 | 124.6 ms |",
            "| fp8\\_block | 84/252 | 33.333% | 0.428570 | 2.468716 | 103.3 ms |",
        ],
        "Where the answers differ": [
            "| answers | rows |",
            "| Another answer | 48 |",
            "| Correct only in bf16 | 19 |",
            "| Correct only in fp8\\_block | 24 |",
            "| Correct in neither | 149 |",
            "| McNemar's exact p | 0.5424 |",
        ],
        "How far probabilities moved": [
            "| absolute difference of a candidate's probability | value |",
            "| Median | 0.00245425 |",
            "| p99 | 0.06217 |",
            "| Maximum | 0.08334 |",
            "| Rows in which one moved by 0.10 or more | 0/252 (0.00%) |",
        ],
        "Mean latency by input length": [
            "| input tokens | rows | bf16 | fp8\\_block | change |",
            "| &lt;=256 | 57 | 19.8 ms | 16.9 ms | -14.4% |",
            "| 257-1,024 | 121 | 44.8 ms | 36.3 ms | -18.9% |",
            "| 1,025-4,096 | 50 | 170.7 ms | 137.4 ms | -19.5% |",
            "| 4,097-16,384 | 24 | 679.5 ms | 574.9 ms | -15.4% |",
        ],
    }


NOTE = """\
- **bf16**: failed 0, excluded 0, truncated 0; rotations 3 (84 rows), 4 (168 rows); concurrency 1; longest input 14,221 tokens; \
GPU power limit 700 W at the start, 700 W at the end; memory peak 14,473 MiB (device).
- **fp8\\_block**: failed 0, excluded 0, truncated 0; rotations 3 (84 rows), 4 (168 rows); concurrency 1; longest input 14,221 tokens; \
GPU power limit 700 W at the start, 700 W at the end; memory peak 11,011 MiB (device).
- Rows compared: 252. Left out: 0 missing, 0 extra, 0 with another request, 0 with another question, 0 not answered by both.
"""


def test_a_note_has_counts_rotations_and_conditions_zeros_too(tmp_path: Path) -> None:
    assert NOTE in made(tmp_path).text


def test_the_note_says_only_what_the_report_does(tmp_path: Path) -> None:
    value = report(
        baseline__run__powerLimit={"startW": None, "endW": [300.0, 350.5], "changed": True},
        baseline__run__memory=None,
        baseline__run__concurrency=None,
        baseline__rotations=[{"rotations": 4, "rows": 252}],
        baseline__statuses__truncated=1234,
        candidate__run__powerLimit=None,
        candidate__run__memory={"peakMiB": 5.5},
        candidate__rotations=[{"rotations": None, "rows": 252}],
    )
    text = made(tmp_path, value).text
    head = "failed 0, excluded 0, truncated"
    power = "GPU power limit 300 W, 350.5 W at the end, changed during the run"
    assert f"- **bf16**: {head} 1,234; rotations 4; longest input 14,221 tokens; {power}.\n" in text
    assert f"{head} 0; rotations not told (252 rows); concurrency 1; longest input 14,221 tokens; memory peak 5.5 MiB.\n" in text


def test_every_figure_is_found_at_its_pointer_in_the_receipt(tmp_path: Path) -> None:
    """Nothing but what is computed from such figures stands in the tables, and each stands where the preview looks for it."""
    card = made(tmp_path)
    lines = card.text.split("\n")
    assert len(card.figures) > 70
    for placed in card.figures:
        assert lines[placed.line - 1][placed.column - 1 : placed.end_column - 1] == placed.text
        for leaf in placed.figure.leaves():
            assert (leaf.source, leaf.file) == ("receipt", NAME)
            assert resolve(MEASURED, leaf.pointer) == leaf.value
    said = {figure.pointer for placed in card.figures for figure in placed.figure.leaves()}
    assert {"/baseline/run/profile", "/candidate/ece", "/comparison/mcnemarP", "/buckets/3/meanLatencyChangePercent", "/baseline/rotations/1/rows",
            "/probabilityDifferences/threshold", "/candidate/run/powerLimit/endW/0", "/matching/notAnswered"} <= said  # fmt: skip
    numbers = [line for part in tables_of(card.text).values() for line in part[1:]]
    on = [placed.line for placed in card.figures]
    assert all(lines.index(line) + 1 in on for line in numbers)


def test_korean_has_the_same_figures_in_its_own_words(tmp_path: Path) -> None:
    card = made(tmp_path, None, {"locales": ["ko"]})
    english = made(tmp_path)
    assert list(tables_of(card.text)) == ["정답과 보정", "답이 갈린 곳", "확률의 차이", "입력 길이별 평균 지연 시간"]
    assert "| 프로필 | 정답 | 정확도 | ECE | 평균 NLL | 평균 지연 시간 |" in card.text
    assert "| bf16에서만 정답 | 19 |" in card.text
    assert "메모리 최고치 14,473 MiB" in card.text
    key = [(one.figure.pointer, one.text) for one in english.figures]
    assert sorted(key) == sorted((one.figure.pointer, one.text) for one in card.figures)


def test_both_languages_in_one_card(tmp_path: Path) -> None:
    text = made(tmp_path, None, {"locales": ["en", "ko"], "locales_in": "one"}).text
    assert ("### Where the answers differ" in text, "### 답이 갈린 곳" in text) == (True, True)


def test_latency_stands_under_its_own_heading_unless_a_section_is_given(tmp_path: Path) -> None:
    text = made(tmp_path).text
    assert text.index("### How far") < text.index("## Latency and throughput") < text.index("### Mean latency")
    text = made(tmp_path, section="hardware").text
    assert "## Latency and throughput" not in text
    assert text.index("## Hardware and memory") < text.index("### Answers and calibration")


def test_a_title_a_note_and_measured_by_are_kept(tmp_path: Path) -> None:
    text = made(tmp_path, title={"en": "DecisionBench *full*"}, note="Chance would get a **third** right.", measured_by="upstream").text
    assert text.count("### DecisionBench \\*full\\* — ") == 4
    assert "### DecisionBench \\*full\\* — Answers and calibration\n" in text
    assert "0 not answered by both.\n\nChance would get a **third** right.\n" in text
    assert text.count("upstream's own figures") == 4


def test_a_figure_typed_into_the_note_is_refused_as_elsewhere(tmp_path: Path) -> None:
    found = only(faults(lambda: made(tmp_path, note="It is 36.4% faster.")))
    assert ("typed by hand" in found.message, found.where.pointer) == (True, "/card/tables/0/note")


@pytest.mark.parametrize("key", ["columns", "rows", "compare", "each"])
def test_what_the_report_decides_can_not_be_given(tmp_path: Path, key: str) -> None:
    value = {"columns": ["a"], "rows": [["a"]], "compare": {"columns": [{"name": "a", "receipt": "b"}], "rows": ["t"]},
             "each": {"receipt": "a", "cells": ["a"]}}[key]  # fmt: skip
    found = problems(tmp_path, {**MINIMAL, "card": {"tables": [{"decisions": NAME, key: value}]}})
    assert any(problem.where.pointer.startswith("/card/tables/0") for problem in found if problem.where.pointer)


def test_other_tables_still_need_a_title(tmp_path: Path) -> None:
    found = only(problems(tmp_path, {**MINIMAL, "card": {"tables": [{"columns": ["a"], "rows": [["a"]]}]}}))
    assert (found.message, found.where.pointer) == ('"title" is missing', "/card/tables/0")


# ------------------------------------------------------------------------------------------------------- names of the runs


HOSTILE = "<script>alert(1)</script> | {{ 7*7 }} {% raise %} {=secret} `x` [a](javascript:b) **b**\n## c \u202e"


def test_a_hostile_profile_is_text(tmp_path: Path) -> None:
    card = made(tmp_path, report(baseline__run__profile=HOSTILE))
    assert len(tables_of(card.text)) == 4
    for lines in tables_of(card.text).values():
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, lines
    for bad in ("<script>", "\n## c", "\u202e", " 49 "):
        assert bad not in card.text
    assert not re.search(r"(?<!\\)(\{[{%=]|\]\(javascript|`x)", card.text)
    assert r"\{=secret\}" in card.text
    assert card.text.count("&lt;script&gt;") >= 4  # row, label, heading of a column, note


@pytest.mark.parametrize("profile", ["12. x", "- x", "# x", "> x", "†", "   padded   ", "0.42", "nan", "{=a}"])
def test_any_text_can_be_a_profile(tmp_path: Path, profile: str) -> None:
    card = made(tmp_path, report(candidate__run__profile=profile))
    assert {one.figure.value for one in card.figures if one.figure.pointer == "/candidate/run/profile"} == {profile}
    assert len(tables_of(card.text)["Mean latency by input length"]) == 5


def test_without_a_profile_the_model_names_the_run_and_without_that_its_part(tmp_path: Path) -> None:
    value = report(baseline__run__profile=None, candidate__run__profile=" ", candidate__run__model=None)
    lines = tables_of(made(tmp_path, value).text)["Answers and calibration"]
    assert [line.split(" | ")[0] for line in lines[1:]] == ["| example-org/random-qwen3.5-4b-decisions-bf16", "| candidate"]


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    lines = tables_of(made(tmp_path, report(candidate__run__profile="bf16")).text)
    assert lines["Mean latency by input length"][0] == "| input tokens | rows | bf16 (baseline) | bf16 (candidate) | change |"
    assert lines["Where the answers differ"][2:4] == [
        "| Correct only in bf16 (baseline) | 19 |",
        "| Correct only in bf16 (candidate) | 24 |",
    ]


# --------------------------------------------------------------------------------------------------------------- figures


def test_unlike_concurrency_leaves_no_change_of_latency(tmp_path: Path) -> None:
    value = report(**{f"buckets__{n}__meanLatencyChangePercent": None for n in range(5)}, candidate__run__concurrency=8)
    lines = tables_of(made(tmp_path, value).text)["Mean latency by input length"]
    assert lines[1] == "| &lt;=256 | 57 | 19.8 ms | 16.9 ms | not comparable |"


def test_a_change_that_a_report_gives_for_unlike_concurrency_is_not_shown(tmp_path: Path) -> None:
    lines = tables_of(made(tmp_path, report(candidate__run__concurrency=8)).text)["Mean latency by input length"]
    assert [line.endswith("| not comparable |") for line in lines[1:]] == [True] * 4
    unknown = report(baseline__run__concurrency=None, candidate__run__concurrency=None)
    assert tables_of(made(tmp_path, unknown).text)["Mean latency by input length"][1].endswith("| -14.4% |")


@pytest.mark.parametrize(("threshold", "shown"), [(0.1, "0.10"), (0.05, "0.05"), (0.125, "0.125")])
def test_a_threshold_is_said_whole(tmp_path: Path, threshold: float, shown: str) -> None:
    text = made(tmp_path, report(probabilityDifferences__threshold=threshold)).text
    assert f"| Rows in which one moved by {shown} or more |" in text


@pytest.mark.parametrize(
    ("p", "shown"), [(1, "1.0000"), (0.0001, "0.0001"), (0.00003, "&lt; 0.0001"), (1e-300, "&lt; 0.0001"), (0, "&lt; 0.0001")]
)
def test_a_small_p_is_not_shown_as_zero(tmp_path: Path, p: float, shown: str) -> None:
    assert (
        tables_of(made(tmp_path, report(comparison__mcnemarP=p)).text)["Where the answers differ"][5] == f"| McNemar's exact p | {shown} |"
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [("baseline__accuracy", "0.5"), ("baseline__accuracy", None), ("candidate__correct", 1.5), ("candidate__latency__meanMs", "fast"), ("comparison__mcnemarP", 2),
     ("buckets__0__rows", "57"), ("buckets__0__baseline__meanMs", True), ("probabilityDifferences__p99", [1]), ("baseline__statuses__failed", -1),
     ("baseline__run__memory", {"peakMiB": "14 GB"}), ("baseline__run__powerLimit", {"startW": ["700"]}), ("matching__missing", "none")],
)  # fmt: skip
def test_what_is_no_number_is_refused_with_its_place_in_the_report(tmp_path: Path, path: str, value: Any) -> None:
    found = only(faults(lambda: made(tmp_path, report(**{path: value}))))
    assert (found.code, found.where.pointer, found.where.line is not None) == ("HR601", "/card/tables/0/decisions", True)
    assert all(step in found.message for step in path.split("__")[:2])
    assert "bench report" in found.mend


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize(
    "path",
    ["baseline__accuracy", "candidate__ece", "baseline__latency__meanMs", "comparison__mcnemarP", "buckets__1__candidate__meanMs",
     "buckets__1__meanLatencyChangePercent", "probabilityDifferences__maximum", "probabilityDifferences__threshold",
     "baseline__run__memory__peakMiB", "candidate__run__powerLimit__startW__0"],
)  # fmt: skip
def test_nan_and_infinity_are_refused(tmp_path: Path, path: str, value: float) -> None:
    found = faults(lambda: made(tmp_path, report(**{path: value})))
    assert found
    assert all(one.code == "HR601" and one.mend for one in found)
    assert any("finite" in one.message or "does not fit" in one.message for one in found)


@pytest.mark.parametrize("other", [{"kind": "figures"}, {"results": {}}, [], "text", None, {"kind": "decision-report"}], ids=repr)
def test_what_is_no_paired_report_is_refused(tmp_path: Path, other: Any) -> None:
    spec = facts(tmp_path).spec
    found = only(faults(lambda: rendered(Facts(spec, Lock(), {NAME: other}, None))))
    assert (found.code, found.where.pointer) == ("HR601", "/card/tables/0/decisions")
    assert NAME in found.message
    assert "bench report" in found.mend


def test_an_absent_receipt_is_refused_once_for_all_languages(tmp_path: Path) -> None:
    spec = facts(tmp_path, None, {"locales": ["en", "ko"], "locales_in": "one"}).spec
    found = only(faults(lambda: rendered(Facts(spec, Lock(), {}, None))))
    assert (found.code, found.where.pointer, found.where.line is not None) == ("HR601", "/card/tables/0/decisions", True)
    assert f'"{NAME}" is no paired report' in found.message


def test_counts_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    for value in (
        report(baseline__accuracy=0.9),
        report(buckets__0__meanLatencyChangePercent=-50),
        report(candidate__rows=251),
        report(buckets__0__rows=58),
    ):
        found = faults(lambda value=value: made(tmp_path, value))
        assert found
        assert "does not agree" in found[0].message


def test_the_example_of_a_real_run_needs_nothing_else(tmp_path: Path) -> None:
    """examples/random-decisions-h200: four tables and the receipts, and no figure typed."""
    text = rendered_example()
    assert len(tables_of(text)) == 4
    receipts = text[text.index("Receipts:") :]
    assert "benchmarks/decisionbench-full.json" in receipts
    assert receipts.count("engine sm120, data set questions.jsonl, concurrency 1, server profile fused") == 2


def rendered_example() -> str:
    from hubrelease.receipts import read_all
    from hubrelease.spec import load_spec

    spec = load_spec(EXAMPLE)
    return rendered(Facts(spec, Lock(), {name: value for name, (_, value) in read_all(spec).items()}, None)).text


def test_every_phrase_of_the_tables_is_there_in_both_languages() -> None:
    ours = [{key for key in catalogue(locale) if key.startswith("decisions_")} for locale in ("en", "ko")]
    assert ours[0] == ours[1] != set()
