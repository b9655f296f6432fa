"""`published`: what a publisher states for a figure, beside what the data gives. Agreement is silent; else both are shown, and HR619 says so."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from cards import judged
from command_line import Cli
from specs import MINIMAL, faults, folder, load, only, problems
from test_cards_figures import lm_eval

from hubrelease.cards import rendered
from hubrelease.checker import check
from hubrelease.errors import Problem
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.published import published_problems

A, B, N = "benchmarks/a.json", "benchmarks/b.json", "benchmarks/n.json"
COUNTS = {"total": 100, "text": 40, "image": 59, "ms": 353.1, "s": 0.3531, "share": 0.8925, "name": "fp8"}
RECEIPTS = {A: lm_eval(0.5392), B: lm_eval(0.5461, "org/base"), N: COUNTS}
MMLU = [{"receipt": A, "task": "mmlu"}, {"receipt": B, "task": "mmlu"}]
KEPT = {"compute": "recovery", "of": MMLU, "decimals": 1}  # 98.737 %


def facts(root: Path, figures: dict[str, Any], **card: Any) -> Facts:
    spec = {**MINIMAL, "benchmarks": [{"receipt": name.split("/")[1]} for name in RECEIPTS], "card": {"figures": figures, **card}}
    return Facts(load(root, spec), Lock(), RECEIPTS, None)


def found(root: Path, figure: dict[str, Any], published: Any, **others: Any) -> list[Problem]:
    return list(published_problems(facts(root, {"x": {**figure, "published": published}, **others})))


def at(pointer: str, **more: Any) -> dict[str, Any]:
    return {"receipt": N, "pointer": pointer, **more}


def test_a_recovery_that_the_scores_do_not_give_is_a_warning_with_both_values(tmp_path: Path) -> None:
    told = only(found(tmp_path, KEPT, "98.8%"))
    assert (told.code, told.kind, told.severity) == ("HR619", "published-differs", "warning")
    assert (told.where.file, told.where.pointer) == ("release.yaml", "/card/figures/x/published")
    lines = (tmp_path / "release.yaml").read_text().split("\n")
    assert told.where.line is not None
    assert "98.8%" in lines[told.where.line - 1]
    assert told.message == (
        "was published as 98.8%, and the data gives 98.7%: recovery: 100 × a / b, of 0.2696 (benchmarks/a.json/results/mmlu/acc,none) "
        "and 0.27305 (benchmarks/b.json/results/mmlu/acc,none)"
    )
    assert "98.7%" in told.mend


@pytest.mark.parametrize(
    ("figure", "published"),
    [(KEPT, "98.7%"), (KEPT, "98.74%"), (KEPT, "99%"), (KEPT, "98.7"), (KEPT, " 98.74 % "), (at("/total"), "100"), (at("/ms", **{"from": "ms"}), "0.353 s"),
     (at("/s", **{"from": "s", "as": "duration"}), "353 ms"), (at("/share", **{"as": "percent", "decimals": 1}), "89.3%"), (at("/name"), "fp8"),
     (at("/share", **{"as": "percent", "decimals": 1}), "89.2%"), ({"compute": "product", "of": [at("/total"), at("/total")]}, "10,000"),
     ({"compute": "difference", "of": [at("/text"), at("/image")]}, "−19"), ({"compute": "difference", "of": [at("/image"), at("/text")]}, "+19")],
    ids=repr,
)  # fmt: skip
def test_what_agrees_at_the_precision_that_was_published_is_silent(tmp_path: Path, figure: dict[str, Any], published: str) -> None:
    """A tie may be rounded either way."""
    assert found(tmp_path, figure, published) == []


@pytest.mark.parametrize(
    ("figure", "published", "gives"),
    [(KEPT, "98.73%", "98.74%"), (KEPT, "98.8", "98.7%"), (KEPT, "-98.7%", "98.7%"), (at("/total"), "99", "100"), (at("/ms", **{"from": "ms"}), "0.354 s", "0.353 s"),
     (at("/name"), "bf16", "fp8"), ({"compute": "sum", "of": [at("/text"), at("/image")]}, "100", "99"), ({"compute": "average", "of": [at("/text"), at("/image")]}, "51", "49.5")],
    ids=repr,
)  # fmt: skip
def test_what_does_not_agree_is_told(tmp_path: Path, figure: dict[str, Any], published: str, gives: str) -> None:
    told = only(found(tmp_path, figure, published))
    assert f"the data gives {gives}" in told.message


def test_a_total_of_a_receipt_is_held_against_the_sum_of_its_parts(tmp_path: Path) -> None:
    told = only(found(tmp_path, {"compute": "sum", "of": [at("/text"), at("/image")]}, at("/total")))
    assert told.message.startswith(f"was published as 100 ({N}/total), and the data gives 99: sum: a + b + …")
    agreeing = {"compute": "sum", "of": ["rest", at("/text"), at("/image")]}
    rest = {"compute": "difference", "of": [at("/total"), "both"]}
    both = {"compute": "sum", "of": [at("/text"), at("/image")]}
    assert found(tmp_path, agreeing, at("/total"), rest=rest, both=both) == []


def test_a_published_figure_of_a_receipt_is_taken_in_the_form_of_the_figure(tmp_path: Path) -> None:
    """0.8925 in a receipt is 89.2% or 89.3% where the figure is a percentage with one decimal."""
    average = {"compute": "average", "of": [at("/share"), at("/share")], "as": "percent", "decimals": 1}
    assert found(tmp_path, average, at("/share")) == []
    assert "as 35.3%" in only(found(tmp_path, average, at("/s"))).message


def test_a_published_number_in_another_unit_or_none_is_refused(tmp_path: Path) -> None:
    for figure, published, words in (
        (KEPT, "98.7 ms", '"98.7 ms" is published for a figure in %'),
        (KEPT, "about 99", "no number"),
        (KEPT, "1e400", '"1e400" is published for a figure in %'),
        (at("/total"), "100%", '"100%" is published for a figure without a unit'),
        (KEPT, "9" * 400, "no number"),
    ):
        assert (
            words
            in only(faults(lambda f=figure, p=published: rendered(facts(tmp_path, {"x": {**f, "published": p}}, summary="{=x}")))).message
        )  # type: ignore[misc]


def test_other_figures_are_computed_from_the_data(tmp_path: Path) -> None:
    """What was published is shown, never computed with."""
    figures = {
        "all": {"compute": "sum", "of": [at("/text"), at("/image")], "published": "100"},
        "half": {"compute": "share", "of": [at("/text"), "all"], "decimals": 2},
    }
    assert (
        "| 40.40% |" in rendered(facts(tmp_path, figures, tables=[{"title": "t", "columns": ["a", "b"], "rows": [["x", "{=half}"]]}])).text
    )


def test_the_card_marks_it_and_says_under_the_table_what_the_data_gives(tmp_path: Path) -> None:
    table = {
        "title": "Scores",
        "columns": ["Benchmark", "FP8"],
        "rows": [["MMLU", "53.92 of it ({=x})"], ["All", {"figure": "y"}]],
        "note": "Ours.",
    }
    made = rendered(facts(tmp_path, {"x": {**KEPT, "published": "98.8%"}, "y": {**KEPT, "published": "98.7%"}}, tables=[table]))
    lines = made.text.split("\n")
    assert "| MMLU | 53.92 of it (98.8%†) |" in lines
    assert "| All | 98.7% |" in lines
    below = lines.index("† As published; the data gives another value. MMLU, FP8: 98.7% (published: 98.8%).")
    assert below > lines.index("Ours.")
    shown = [(p.text, p.figure.shown, p.figure.published is not None) for p in made.figures]
    assert shown == [("98.8%", "98.7%", True), ("98.7%", "98.7%", False), ("98.7%", "98.7%", False), ("98.8%", "98.8%", False)]
    assert [p.kind for p in made.warnings] == ["published-differs"]
    assert made.figures[0].figure.as_json()["published"] == {"shown": "98.8%", "source": "spec", "value": "98.8%", "file": "release.yaml",
                                                             "pointer": "/card/figures/x/published"}  # fmt: skip


def test_a_text_says_it_beside_the_figure(tmp_path: Path) -> None:
    figures = {"x": {**KEPT, "published": "98.8%"}}
    spec = facts(tmp_path, figures, summary={"en": "It keeps {=x}.", "ko": "회복률 {=x}."}, locales=["en", "ko"], locales_in="one")
    text = rendered(spec).text
    assert "It keeps 98.8% (as published; the data gives 98.7%)." in text
    assert "회복률 98.8% (게시된 값, 데이터로는 98.7%)." in text


def test_a_cell_of_its_own_can_have_one(tmp_path: Path) -> None:
    table = {"title": "t", "columns": ["a", "b"], "rows": [["x", [{**KEPT, "published": "98.8%"}, " of it"]]]}
    told = only(list(published_problems(facts(tmp_path, {}, tables=[table]))))
    assert told.where.pointer == "/card/tables/0/rows/0/1/0/published"
    each = {"receipt": "benchmarks/r.json", "in": "/rows", "cells": [{"pointer": "/name"}, {
        "compute": "sum", "of": [{"pointer": "/text"}, {"pointer": "/image"}], "published": {"pointer": "/total"}}]}  # fmt: skip
    rows = {"rows": [{"name": "a", "text": 1, "image": 2, "total": 3}, {"name": "b", "text": 1, "image": 2, "total": 4}]}
    spec = {**MINIMAL, "benchmarks": [{"receipt": "r.json"}], "card": {"tables": [{"title": "t", "columns": ["a", "b"], "each": each}]}}
    made = Facts(load(tmp_path, spec), Lock(), {"benchmarks/r.json": rows}, None)
    assert "| b | 4† |" in rendered(made).text
    told = only(list(published_problems(made)))
    assert (told.where.pointer, "as 4 (benchmarks/r.json/rows/1/total), and the data gives 3" in told.message) == (
        "/card/tables/0/each/cells/1/published",
        True,
    )


def test_a_figure_that_is_shown_in_another_form_is_what_the_data_gives(tmp_path: Path) -> None:
    figures = {"x": {**KEPT, "published": "98.8%"}}
    text = rendered(
        facts(
            tmp_path,
            figures,
            tables=[{"title": "t", "columns": ["a", "b"], "rows": [["x", {"figure": "x", "as": "number", "decimals": 3}]]}],
        )
    ).text
    assert "| x | 0.987 |" in text


def test_published_is_text_or_a_figure_that_is_found(tmp_path: Path) -> None:
    for wrong in ([], {"compute": "sum", "of": ["a"]}, {"pointer": "/a"}):
        assert problems(tmp_path, {**MINIMAL, "card": {"figures": {"x": {**KEPT, "published": wrong}}}})[0].where.pointer.startswith(
            "/card/figures/x"
        )  # type: ignore[union-attr]
    inside = {"compute": "sum", "of": [{"receipt": N, "pointer": "/a", "published": "1"}]}
    assert problems(tmp_path, {**MINIMAL, "card": {"figures": {"x": inside}}})[0].kind == "spec-unknown-key"


def test_numbers_need_no_quotes(tmp_path: Path) -> None:
    spec = folder(tmp_path, f"""schema: 1
name: owner/tiny
version: 1.0.0
license: apache-2.0
weights: {{format: as-is}}
benchmarks: [{{receipt: n.json}}]
card:
  figures:
    all: {{compute: sum, of: [{{receipt: {N}, pointer: /text}}, {{receipt: {N}, pointer: /image}}], published: 99.50}}
    share: {{receipt: {N}, pointer: /share, as: percent, decimals: 2, published: 89.25%}}
""", n__json=COUNTS)  # fmt: skip
    told = only([p for p in check(spec) if p.kind == "published-differs"])
    assert "published as 99.50, and the data gives 99.00" in told.message


# -------------------------------------------------------------------------------------------------------- the commands


def release(root: Path) -> Path:
    table = {"title": "t", "columns": ["a", "b"], "rows": [["x", "{=x}"]]}
    figures = {"x": {"compute": "sum", "of": [at("/text"), at("/image")], "published": "100"}, "y": {"compute": "share", "of": [at("/text"), at("/total")], "published": "40%"}}  # fmt: skip
    return folder(root, {**MINIMAL, "benchmarks": [{"receipt": "n.json"}], "card": {"figures": figures, "tables": [table]}}, n__json=COUNTS)


def test_check_render_and_render_check_say_so_and_stay_good(tmp_path: Path, cli: Cli) -> None:
    root = release(tmp_path)
    for arguments in (["check"], ["card", "render"], ["card", "render", "-o", str(root / "README.md")], ["card", "render", "--check"]):
        said = cli(*arguments, root)
        assert said.code == 0, said
        assert "/card/figures/x/published: HR619 warning: was published as 100, and the data gives 99" in said.out + said.err, arguments


def test_verify_says_so_of_the_release(tmp_path: Path) -> None:
    root = release(tmp_path / "spec")
    made = load(root, json.loads((root / "release.yaml").read_text()), n__json=COUNTS)
    text = rendered(Facts(made, Lock(), {N: COUNTS}, None)).text
    told = judged(tmp_path / "r", card=text.encode(), receipts={N: json.dumps(COUNTS).encode()}, spec=made.document)
    assert [(p.code, p.severity, p.where.file, p.where.pointer) for p in told if p.code.startswith("HR61")] == [
        ("HR619", "warning", "MODEL_PROVENANCE.json", "/predicate/buildDefinition/externalParameters/spec/card/figures/x/published")
    ]


def test_a_card_that_shows_another_value_than_the_published_one_is_an_error(tmp_path: Path) -> None:
    root = release(tmp_path / "spec")
    made = load(root, json.loads((root / "release.yaml").read_text()), n__json=COUNTS)
    text = rendered(Facts(made, Lock(), {N: COUNTS}, None)).text.replace("| x | 100† |", "| x | 101† |")
    told = judged(tmp_path / "r", card=text.encode(), receipts={N: json.dumps(COUNTS).encode()}, spec=made.document)
    assert {p.code for p in told if p.code.startswith("HR61")} == {"HR614", "HR619"}


# ------------------------------------------------------------------------------------------------------------- hostile


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "a | b", "{{ 7*7 }}", "{=x}", "`x`", "[a](javascript:alert(1))", "# h", "\u202e"]
)
def test_what_was_published_is_foreign_text(tmp_path: Path, text: str) -> None:
    table = {"title": "t", "columns": ["a", "b"], "rows": [["x", "{=x}"]]}
    asked = {"x": {**at("/name"), "published": text}}
    if text == "\u202e":
        assert problems(tmp_path, {**MINIMAL, "card": {"figures": asked}})
        return
    made = rendered(facts(tmp_path, asked, tables=[table], summary="It is {=x}."))
    row = next(line for line in made.text.split("\n") if line.startswith("| x |"))
    assert re.sub(r"\\\|", "", row).count("|") == 3
    assert "<script>" not in made.text
    assert "49" not in made.text
    assert "[a](" not in made.text


def test_a_circle_through_what_was_published_is_told(tmp_path: Path) -> None:
    found = faults(lambda: rendered(facts(tmp_path, {"x": {**KEPT, "published": {"figure": "x"}}}, summary="{=x}")))
    assert "is computed from figures that are computed from it" in found[0].message


def test_three_hundred_of_them_take_no_time(tmp_path: Path) -> None:
    made = facts(tmp_path, {f"x{n}": {**KEPT, "published": "98.8%"} for n in range(300)})
    began = time.process_time()
    assert len(list(published_problems(made))) == 300
    assert time.process_time() - began < 0.5
