"""Tables that nobody types out: receipts side by side with their recovery, rows for the items of a receipt, cells of several figures."""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from specs import MINIMAL, faults, load, only, problems
from test_cards_figures import lm_eval

from hubrelease.cards import render, rendered
from hubrelease.facts import Facts
from hubrelease.lock import Lock

REPORT = {"buckets": [{"label": "<=256", "rows": 5667, "fp8": 46.3, "bf16": 65.8}, {"label": ">16,384", "rows": 519, "fp8": 7125.0, "bf16": 10772.0}],
          "tasks": {"b": {"n": 2}, "a": {"n": 1}}, "empty": [], "word": "x"}  # fmt: skip
RECEIPTS = {"benchmarks/bf16.json": lm_eval(0.7407), "benchmarks/fp8.json": lm_eval(0.7392, "org/fp8"), "benchmarks/r.json": REPORT}
COLUMNS = [{"name": "BF16", "receipt": "benchmarks/bf16.json", "baseline": True}, {"name": "FP8", "receipt": "benchmarks/fp8.json"}]
STRICT = {"label": "GSM8K (strict)", "task": "gsm8k", "metric": "exact_match", "filter": "strict"}


def table(root: Path, asked: dict[str, Any], receipts: dict[str, Any] | None = None, **card: Any) -> list[str]:
    """The lines of the one table of a card, but the rule."""
    found = receipts or RECEIPTS
    spec = {
        **MINIMAL,
        "benchmarks": [{"receipt": name.split("/")[1]} for name in found],
        "card": {"tables": [{"title": "t", **asked}], **card},
    }
    lines = [line for line in render(Facts(load(root, spec), Lock(), found, None)).split("\n") if line.startswith("|")]
    return [lines[0], *lines[2:]]


def compare(**more: Any) -> dict[str, Any]:
    return {"compare": {"columns": COLUMNS, "rows": [STRICT, "mmlu"], "as": "percent", "unit": "", "decimals": 2, **more}}


def test_runs_stand_side_by_side_with_their_recovery_and_averages(tmp_path: Path) -> None:
    assert table(tmp_path, compare(average=True)) == [
        "| benchmark | BF16 | FP8 | recovery |",
        "| GSM8K (strict) | 74.07 | 73.92 | 99.8% |",
        "| mmlu | 37.04 | 36.96 | 99.8% |",
        "| Average | 55.55 | 55.44 | 99.8% |",
    ]


def test_the_recovery_can_stand_behind_the_value(tmp_path: Path) -> None:
    assert table(tmp_path, compare(versus={"place": "inside"}, average="Mean"))[1::2] == [
        "| GSM8K (strict) | 74.07 | 73.92 (99.8%) |",
        "| Mean | 55.55 | 55.44 (99.8%) |",
    ]


def test_another_formula_can_stand_in_place_of_the_recovery(tmp_path: Path) -> None:
    versus = {"compute": "difference", "as": "percent", "unit": "pp", "decimals": 2, "heading": "points"}
    assert table(tmp_path, compare(versus=versus))[:2] == [
        "| benchmark | BF16 | FP8 | points |",
        "| GSM8K (strict) | 74.07 | 73.92 | -0.15 pp |",
    ]


def test_columns_of_several_candidates_say_whose_recovery_it_is(tmp_path: Path) -> None:
    columns = [*COLUMNS, {"name": "again", "receipt": "benchmarks/fp8.json"}]
    assert table(tmp_path, compare(columns=columns))[0] == "| benchmark | BF16 | FP8 | FP8: recovery | again | again: recovery |"


def test_without_a_baseline_there_is_nothing_to_hold_against(tmp_path: Path) -> None:
    columns = [{"name": "BF16", "receipt": "benchmarks/bf16.json"}, COLUMNS[1]]
    assert table(tmp_path, compare(columns=columns))[0] == "| benchmark | BF16 | FP8 |"


def test_a_column_can_have_several_receipts_each_row_in_one(tmp_path: Path) -> None:
    korean = lm_eval(0.5)
    korean["results"] = {"haerae": {"acc,none": 0.6169}}
    korean["versions"], korean["n-shot"] = {"haerae": 3}, {"haerae": 0}
    receipts = {**RECEIPTS, "benchmarks/ko.json": korean}
    columns = [{"name": "FP8", "receipts": ["benchmarks/fp8.json", "benchmarks/ko.json"]}]
    assert table(tmp_path, compare(columns=columns, rows=["mmlu", "haerae"]), receipts)[1:] == ["| mmlu | 36.96 |", "| haerae | 61.69 |"]
    both = [{"name": "FP8", "receipts": ["benchmarks/fp8.json", "benchmarks/bf16.json"]}]
    assert "more than one of" in only(faults(lambda: table(tmp_path, compare(columns=both, rows=["mmlu"])))).message
    assert "none of" in only(faults(lambda: table(tmp_path, compare(columns=columns, rows=["other"]), receipts))).message


def test_rows_can_be_pointers_with_their_own_units(tmp_path: Path) -> None:
    runs = {"benchmarks/base.json": {"ttft": 46.3, "out": 24.86}, "benchmarks/draft.json": {"ttft": 50.0, "out": 40.63}}
    columns = [
        {"name": "baseline", "receipt": "benchmarks/base.json", "baseline": True},
        {"name": "7 tokens", "receipt": "benchmarks/draft.json"},
    ]
    rows = [
        {"label": "TTFT", "pointer": "/ttft", "from": "ms", "as": "duration"},
        {"label": "output", "pointer": "/out", "unit": "tok/s", "decimals": 2},
    ]
    asked = {"compare": {"columns": columns, "rows": rows, "versus": {"compute": "ratio", "unit": "×", "decimals": 2}}}
    assert table(tmp_path, asked, runs)[1:] == ["| TTFT | 46.3 ms | 50.0 ms | 1.08 × |", "| output | 24.86 tok/s | 40.63 tok/s | 1.63 × |"]


def test_unlike_runs_are_refused_in_a_table_too(tmp_path: Path) -> None:
    receipts = {**RECEIPTS, "benchmarks/fp8.json": lm_eval(0.7, **{"n-shot": {"gsm8k": 0, "mmlu": 5}})}
    found = only(faults(lambda: table(tmp_path, compare(), receipts)))
    assert ("shots (0 and 5)" in found.message, found.where.pointer) == (True, "/card/tables/0/compare/rows/0")


def test_a_second_baseline_is_refused(tmp_path: Path) -> None:
    columns = [{**column, "baseline": True} for column in COLUMNS]
    assert "second baseline" in only(faults(lambda: table(tmp_path, compare(columns=columns)))).message


# ---------------------------------------------------------------------------------------------------------------- each

CELLS = [{"pointer": "/label"}, {"pointer": "/rows"}, {"pointer": "/fp8", "from": "ms", "as": "duration"},
         {"compute": "percent_lower", "of": [{"pointer": "/fp8"}, {"pointer": "/bf16"}], "decimals": 1}]  # fmt: skip


def each(**more: Any) -> dict[str, Any]:
    return {
        "columns": ["tokens", "rows", "FP8", "lower"],
        "each": {"receipt": "benchmarks/r.json", "in": "/buckets", "cells": CELLS, **more},
    }


def test_a_list_of_a_receipt_makes_a_row_each(tmp_path: Path) -> None:
    assert table(tmp_path, each())[1:] == ["| &lt;=256 | 5,667 | 46.3 ms | 29.6% |", "| &gt;16,384 | 519 | 7.125 s | 33.9% |"]
    assert table(tmp_path, each(keys=["1"]))[1:] == ["| &gt;16,384 | 519 | 7.125 s | 33.9% |"]


def test_a_mapping_of_a_receipt_makes_a_row_each_with_its_key(tmp_path: Path) -> None:
    asked = {
        "columns": ["task", "n"],
        "each": {"receipt": "benchmarks/r.json", "in": "/tasks", "cells": [{"key": True}, {"pointer": "/n"}]},
    }
    assert table(tmp_path, asked)[1:] == ["| b | 2 |", "| a | 1 |"]


def test_several_receipts_make_a_row_each(tmp_path: Path) -> None:
    receipts = {f"benchmarks/c{n}.json": {"width": n, "rate": 24.86 * n} for n in (1, 2, 16)}
    cells = [
        {"pointer": "/width"},
        {"pointer": "/rate", "decimals": 2},
        {"compute": "quotient", "of": [{"pointer": "/rate"}, {"pointer": "/width"}], "decimals": 2},
    ]
    asked = {"columns": ["width", "tok/s", "each"], "each": {"receipts": list(receipts), "cells": cells}}
    assert table(tmp_path, asked, receipts)[1:] == ["| 1 | 24.86 | 24.86 |", "| 2 | 49.72 | 24.86 |", "| 16 | 397.76 | 24.86 |"]
    labelled = {
        "columns": ["run", "rate"],
        "each": {"receipts": [{"receipt": "benchmarks/c1.json", "label": "one"}], "cells": [{"pointer": "/rate"}]},
    }
    assert table(tmp_path, labelled, receipts)[1:] == ["| one | 24.86 |"]


@pytest.mark.parametrize(
    ("more", "words"),
    [({"in": "/absent"}, "no list or mapping at /absent"), ({"in": "/word"}, "no list or mapping"), ({"keys": ["7"]}, 'has no "7"'), ({"receipt": "benchmarks/x.json"}, "is no receipt")],
)  # fmt: skip
def test_rows_over_what_is_not_there_are_refused(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    assert words in faults(lambda: table(tmp_path, each(**more)))[0].message


# --------------------------------------------------------------------------------------------------------------- cells


def test_a_cell_can_join_words_and_figures(tmp_path: Path) -> None:
    count = {"receipt": "benchmarks/r.json", "pointer": "/buckets/0/rows"}
    asked = {
        "columns": ["a", "b"],
        "rows": [["FP8", [count, "/", {"receipt": "benchmarks/r.json", "pointer": "/buckets/1/rows"}]], ["x", "{=rows} rows"]],
    }
    assert table(tmp_path, asked, figures={"rows": count})[1:] == ["| FP8 | 5,667/519 |", "| x | 5,667 rows |"]


@pytest.mark.parametrize("cell", ["5", "5 ms", ["36.4%"], [{"figure": "rows"}, " (", "46.3 ms", ")"], {"words": {"en": "12 %"}}], ids=repr)
def test_a_figure_typed_into_a_cell_is_refused(tmp_path: Path, cell: Any) -> None:
    figures = {"rows": {"receipt": "benchmarks/r.json", "pointer": "/buckets/0/rows"}}
    assert "typed by hand" in only(faults(lambda: table(tmp_path, {"columns": ["a", "b"], "rows": [["x", cell]]}, figures=figures))).message


@pytest.mark.parametrize(
    "asked",
    [{}, {"rows": [["a"]], "columns": ["a"], "each": {"receipt": "x", "cells": ["a"]}}, {"rows": [["a"]]}, {"columns": ["a"], "each": {"cells": ["a"]}},
     {"compare": {"columns": [{"name": "a"}], "rows": ["t"]}}, {"columns": ["a"], "rows": [[{"words": "a", "receipt": "b"}]]}, {"columns": ["a"], "rows": [[{"key": True}]]},
     {"compare": {"columns": COLUMNS, "rows": ["t"], "versus": {"compute": "sum"}}}, {"section": "footer", "columns": ["a"], "rows": [["a"]]}],
    ids=repr,
)  # fmt: skip
def test_a_table_that_makes_no_sense_is_refused_with_the_spec(tmp_path: Path, asked: dict[str, Any]) -> None:
    assert problems(tmp_path, {**MINIMAL, "card": {"tables": [{"title": "t", **asked}]}})


def test_tables_stand_in_their_section(tmp_path: Path) -> None:
    rows = {"columns": ["a"], "rows": [["x"]]}
    tables = [{"title": title, "section": title, **rows} for title in ("hardware", "performance", "results")]
    card = render(Facts(load(tmp_path, {**MINIMAL, "card": {"tables": tables}}), Lock(), {}, None))
    order = ["## Results", "### results", "## Latency and throughput", "### performance", "## Validation", "### hardware"]
    assert sorted(order, key=card.index) == order


def test_a_card_of_three_hundred_figures_takes_less_than_half_a_second(tmp_path: Path) -> None:
    """Of processor time, so that what else runs does not matter; bench/card_speed.py has the wall time of the whole command."""
    tasks = [f"task_{n:03}" for n in range(100)]
    rows = {task: {"acc,none": 0.5 + n / 1000} for n, task in enumerate(tasks)}
    receipts = {f"benchmarks/{name}.json": lm_eval(0.5, results=rows, versions={}, **{"n-shot": {}}) for name in ("bf16", "fp8")}
    for receipt in receipts.values():
        receipt["versions"] = dict.fromkeys(tasks, 1)
    spec = {
        **MINIMAL,
        "benchmarks": [{"receipt": "bf16.json"}, {"receipt": "fp8.json"}],
        "card": {"tables": [{"title": "t", **compare(rows=tasks)}]},
    }
    made = Facts(load(tmp_path, spec), Lock(), receipts, None)
    began = time.process_time()
    assert len(rendered(made).figures) == 300
    assert time.process_time() - began < 0.5


# ---------------------------------------------------------------------------------------------------------------- docs

DOCS = (Path(__file__).parent.parent / "docs" / "cards.md").read_text("utf-8")


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", DOCS, re.S), ids=lambda block: block.split("\n")[0].strip()[:40])
def test_an_example_of_the_docs_fits_the_schema(tmp_path: Path, block: str) -> None:
    text = textwrap.dedent(block)
    if text.startswith("- "):
        text = "card:\n  tables:\n" + textwrap.indent(text, "    ")
    elif not text.startswith("card:"):
        text = "card:\n" + textwrap.indent(text, "  ")
    head = "schema: 1\nname: owner/tiny\nversion: 1.0.0\nlicense: mit\nweights: {format: as-is}\n"
    assert load(tmp_path, head + text).card


def test_the_docs_list_every_formula() -> None:
    from hubrelease.formulas import FORMULAS

    assert all(f"`{name}`" in DOCS for name in FORMULAS)
