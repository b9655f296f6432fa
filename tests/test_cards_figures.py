"""Derived figures: formulas by name, exact, rounded once; compared only where the runs were made alike; units said right."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specs import MINIMAL, faults, load, only, problems

from hubrelease.amounts import rounded, show
from hubrelease.cards import rendered
from hubrelease.errors import CheckFailed, Where
from hubrelease.facts import Facts, Figure
from hubrelease.formulas import FORMULAS
from hubrelease.lock import Lock

HERE = Where("release.yaml", 7)
A, B = "benchmarks/a.json", "benchmarks/b.json"
NUMBERS = {
    "one": 1,
    "third": 0.3333,
    "ms": 353.1,
    "slow": 555.4,
    "s": 0.3531,
    "zero": 0,
    "bytes": 205_000_000_000,
    "name": "x",
    "nan": float("nan"),
}


def lm_eval(value: float, model: str = "org/m", **changes: Any) -> dict[str, Any]:
    """A results file of lm_eval: gsm8k under two filters, mmlu."""
    rows = {"gsm8k": {"exact_match,strict": value, "exact_match,flexible": value + 0.01}, "mmlu": {"acc,none": value / 2}}
    given = {
        "results": rows,
        "versions": dict.fromkeys(rows, 3),
        "n-shot": dict.fromkeys(rows, 5),
        "config": {"model_args": f"pretrained={model}"},
    }
    return {**given, **changes}


def facts(root: Path, figures: dict[str, Any], receipts: dict[str, Any] | None = None, **card: Any) -> Facts:
    found = receipts if receipts is not None else {"benchmarks/n.json": NUMBERS}
    spec = {**MINIMAL, "benchmarks": [{"receipt": name.split("/")[1]} for name in found], "card": {"figures": figures, **card}}
    return Facts(load(root, spec), Lock(), found, None)


def figure(root: Path, asked: dict[str, Any], receipts: dict[str, Any] | None = None, **others: Any) -> Figure:
    return facts(root, others, receipts).figure(asked, HERE)


def at(pointer: str, **more: Any) -> dict[str, Any]:
    return {"receipt": "benchmarks/n.json", "pointer": pointer, **more}


def of(file: str, task: str = "mmlu", **more: Any) -> dict[str, Any]:
    return {"receipt": file, "task": task, **more}


# ------------------------------------------------------------------------------------------------------------ formulas


@pytest.mark.parametrize(
    ("name", "operands", "wanted"),
    [("recovery", (57.99, 55.18), "105.1%"), ("change", (1.6374, 1.5703), "+4.3%"), ("change", (1, 2), "-50.0%"),
     ("percent_lower", (0.353, 0.555), "36.4%"), ("percent_higher", (3, 2), "50.0%"), ("difference", (3, 5), "-2.0"), ("difference", (5, 3), "+2.0"),
     ("ratio", (3, 2), "1.5"), ("share", (218, 23900), "0.9%"), ("quotient", (2782.4, 16), "173.9"), ("product", (2, 3, 4), "24.0"),
     ("sum", (0.1, 0.2), "0.3"), ("average", (89.0, 84.5, 94.0), "89.2"), ("minimum", (3, 1, 2), "1.0"), ("maximum", (3, 1, 2), "3.0")],
)  # fmt: skip
def test_a_formula_is_what_its_name_says(tmp_path: Path, name: str, operands: tuple[float, ...], wanted: str) -> None:
    receipts = {"benchmarks/n.json": {"values": list(operands)}}
    asked = {"compute": name, "of": [at(f"/values/{n}") for n in range(len(operands))], "decimals": 1}
    found = figure(tmp_path, asked, receipts)
    assert (found.shown, found.source, found.formula) == (wanted, "derived", f"{name}: {FORMULAS[name].reading}")
    assert [o.value for o in found.operands] == list(operands)


@given(st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=30), st.integers(0, 12))
def test_an_average_is_exact_and_rounded_once(values: list[float], decimals: int) -> None:
    exact = sum(Fraction(repr(v)) for v in values) / len(values)
    text = rounded(FORMULAS["average"].apply([Fraction(repr(v)) for v in values]), decimals)
    assert abs(Fraction(text.replace(",", "")) - exact) <= Fraction(1, 2 * 10**decimals)


def test_an_average_of_what_is_shown_is_asked_for_in_so_many_words(tmp_path: Path) -> None:
    """Six scores whose average is 60.8073…; that of the scores to two decimals is 60.8033…"""
    values = [0.54794, 0.73844, 0.54524, 0.69144, 0.50484, 0.62054]
    receipts = {"benchmarks/n.json": {"values": values}}
    cells = [at(f"/values/{n}", **{"as": "percent"}, decimals=2, unit="") for n in range(6)]
    asked = {"compute": "average", "of": cells, "as": "percent", "unit": "", "decimals": 2}
    assert figure(tmp_path, asked, receipts).shown == "60.81"
    found = figure(tmp_path, {**asked, "rounded": True}, receipts)
    assert (found.shown, found.formula) == ("60.80", "average: (a + b + …) / count, of the figures as shown")


def test_endless_digits_need_a_number_of_decimals(tmp_path: Path) -> None:
    found = only(faults(lambda: figure(tmp_path, {"compute": "quotient", "of": [at("/one"), at("/third")]})))
    assert "without end" in found.message
    assert figure(tmp_path, {"compute": "sum", "of": [at("/one"), at("/third")]}).shown == "1.3333"


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"compute": "ratio", "of": [at("/one"), at("/zero")]}, "divide by zero"), ({"compute": "recovery", "of": [at("/one")]}, "takes 2 figures, not 1"),
     ({"compute": "percent_lower", "of": [at("/slow"), at("/ms")]}, "a is higher than b"), ({"compute": "percent_higher", "of": [at("/ms"), at("/slow")]}, "a is lower"),
     ({"compute": "sum", "of": [at("/name"), at("/one")]}, "is text"), ({"compute": "sum", "of": [at("/nan")]}, "not a finite number"),
     ({"compute": "sum", "of": ["absent"]}, 'card.figures has no "absent"'), ({"figure": "absent"}, 'card.figures has no "absent"')],
)  # fmt: skip
def test_what_can_not_be_computed_is_refused(tmp_path: Path, asked: dict[str, Any], words: str) -> None:
    assert words in only(faults(lambda: figure(tmp_path, {"decimals": 1, **asked}))).message


@pytest.mark.parametrize("name", ["recovery", "change", "percent_lower", "percent_higher"])
def test_a_percentage_of_what_is_below_zero_is_refused(tmp_path: Path, name: str) -> None:
    """Half as far below zero would be "50% lower", or a loss of half."""
    receipts = {"benchmarks/n.json": {"values": [-1.0, -2.0]}}
    asked = {"compute": name, "of": [at("/values/0"), at("/values/1")], "decimals": 1}
    found = only(faults(lambda: figure(tmp_path, asked, receipts)))
    assert ("below zero" in found.message, "difference" in found.mend) == (True, True)
    assert figure(tmp_path, {**asked, "compute": "difference"}, receipts).shown == "+1.0"


def test_figures_that_need_each_other_are_refused(tmp_path: Path) -> None:
    circle = {"a": {"compute": "sum", "of": ["b"]}, "b": {"compute": "sum", "of": ["a"]}}
    assert "computed from figures that are computed from it" in only(faults(lambda: figure(tmp_path, {"figure": "a"}, **circle))).message


def test_doubling_again_and_again_takes_no_time(tmp_path: Path) -> None:
    chain = {f"f{n}": {"compute": "sum", "of": [f"f{n - 1}"] * 100} for n in range(1, 8)}
    found = figure(tmp_path, {"compute": "ratio", "of": ["f7", "f6"]}, f0=at("/one"), **chain)
    assert (found.shown, len(json.dumps(found.as_json())) < 2000) == ("100", True)


def test_a_figure_by_name_can_be_shown_otherwise(tmp_path: Path) -> None:
    latency = at("/ms", **{"from": "ms", "as": "duration"})
    assert figure(tmp_path, {"figure": "x"}, x=latency).shown == "353.1 ms"
    assert figure(tmp_path, {"figure": "x", "as": "number", "unit": "s", "decimals": 3}, x=latency).shown == "0.353 s"


# --------------------------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("value", "asked", "wanted"),
    [(353.1, {"from": "ms"}, "353.1 ms"), (353.1, {"from": "ms", "unit": "s", "decimals": 3}, "0.353 s"), (0.0463, {"as": "duration"}, "46.3 ms"),
     (1.5512, {"as": "duration"}, "1.551 s"), (999.96, {"as": "duration", "from": "ms"}, "1,000.0 ms"), (1000, {"as": "duration", "from": "ms"}, "1.000 s"),
     (205_000_000_000, {"as": "bytes", "unit": "GiB", "decimals": 0}, "191 GiB"), (205_000_000_000, {"as": "bytes", "decimals": 0}, "205 GB"),
     (19968, {"from": "MiB"}, "19,968 MiB"), (19968, {"from": "MiB", "unit": "GiB", "decimals": 1}, "19.5 GiB"), (90, {"from": "s", "unit": "min", "decimals": 1}, "1.5 min"),
     (0.5518, {"as": "percent", "unit": "", "decimals": 2}, "55.18"), (1279.014, {"unit": "tok/s", "decimals": 2}, "1,279.01 tok/s"), (2.5, {"unit": "×", "decimals": 0}, "2 ×"),
     (0.5, {"sign": True}, "+0.5"), (-0.5, {"sign": True}, "-0.5"), (0.001, {"sign": True, "decimals": 1}, "0.0"), (5, {"as": "bytes"}, "5 bytes")],
)  # fmt: skip
def test_units_are_said_right(value: float, asked: dict[str, Any], wanted: str) -> None:
    assert show(value, {"pointer": "/x", **asked}, HERE, "r.json") == wanted


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"as": "bytes", "unit": "ms"}, '"ms" is no unit of size'), ({"from": "ms", "unit": "GB"}, '"GB" is no unit of time'),
     ({"as": "bytes", "from": "ms"}, '"ms" is no unit of size'), ({"as": "percent", "from": "ms"}, "has no effect")],
)  # fmt: skip
def test_a_time_is_no_size(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        show(5, {"pointer": "/x", **asked}, HERE, "r.json")


def test_times_in_different_units_are_compared_as_times(tmp_path: Path) -> None:
    asked = {"compute": "percent_lower", "of": [at("/s", **{"from": "s"}), at("/slow", **{"from": "ms"})], "decimals": 1}
    assert figure(tmp_path, asked).shown == "36.4%"
    mixed = {"compute": "difference", "of": [at("/s", **{"from": "s"}), at("/slow")], "decimals": 1}
    assert "different kinds" in only(faults(lambda: figure(tmp_path, mixed))).message


def test_a_difference_of_times_is_a_time(tmp_path: Path) -> None:
    asked = {"compute": "difference", "of": [at("/s", **{"from": "s"}), at("/slow", **{"from": "ms"})], "as": "duration"}
    assert figure(tmp_path, asked).shown == "-202.3 ms"


# ---------------------------------------------------------------------------------------------------------- comparisons


def compared(root: Path, changes: dict[str, Any], task: str = "mmlu", **other: Any) -> Figure:
    receipts = {A: lm_eval(0.5), B: lm_eval(0.4, **changes)}
    return figure(root, {"compute": "recovery", "of": [of(A, task), {**of(B, task), **other}], "decimals": 1}, receipts)


def test_runs_made_alike_are_compared(tmp_path: Path) -> None:
    assert compared(tmp_path, {}).shown == "125.0%"


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"versions": {"mmlu": 2, "gsm8k": 3}}, "task version (3 and 2)"), ({"n-shot": {"mmlu": 0, "gsm8k": 5}}, "shots (5 and 0)"),
     ({"config": {"model_args": "pretrained=x", "limit": 100}}, "limit (none and 100"), ({"chat_template_sha": "c" * 64}, "chat template (none and ccc")],
)  # fmt: skip
def test_runs_made_otherwise_are_not_and_the_reason_is_said(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    found = only(faults(lambda: compared(tmp_path, changes)))
    assert found.kind == "figure-fault"
    assert words in found.message


def test_another_filter_metric_or_task_is_no_comparison(tmp_path: Path) -> None:
    receipts = {A: lm_eval(0.5), B: lm_eval(0.4)}
    strict, flexible = of(A, "gsm8k", metric="exact_match", filter="strict"), of(B, "gsm8k", metric="exact_match", filter="flexible")
    assert (
        "filter (strict and flexible)"
        in only(faults(lambda: figure(tmp_path, {"compute": "change", "of": [strict, flexible], "decimals": 1}, receipts))).message
    )
    assert "task" in only(faults(lambda: figure(tmp_path, {"compute": "ratio", "of": [of(A), flexible], "decimals": 1}, receipts))).message


def side(name: str, pointer: str, **more: Any) -> dict[str, Any]:
    return {"receipt": "benchmarks/d.json", "pointer": f"/{name}{pointer}", **more}


def decision_report(**concurrency: int) -> dict[str, Any]:
    """As much of a report as its adapter reads."""
    latency = {"baseline": 555.4, "candidate": 353.1}
    runs = {
        name: {"rows": 9, "accuracy": 0.75, "latency": {"meanMs": ms}, "run": {"profile": name, "concurrency": concurrency.get(name, 1)}}
        for name, ms in latency.items()
    }
    buckets = [{"inputTokens": "<=256", "rows": 9, **{name: {"meanMs": ms} for name, ms in latency.items()}}]
    return {"kind": "decision-report", "schemaVersion": 1, **runs, "buckets": buckets, "comparison": {"mcnemarP": 0.5}}


@pytest.mark.parametrize("pointer", ["{}/latency/meanMs", "buckets/0/{}/meanMs"])
def test_both_runs_of_a_paired_report_can_be_compared(tmp_path: Path, pointer: str) -> None:
    of_both = [side(pointer.format(name), "", **{"from": "ms"}) for name in ("candidate", "baseline")]
    asked = {"compute": "percent_lower", "of": of_both, "decimals": 1}
    assert figure(tmp_path, asked, {"benchmarks/d.json": decision_report()}).shown == "36.4%"


def test_latency_at_another_concurrency_is_no_comparison_and_accuracy_is(tmp_path: Path) -> None:
    receipts = {"benchmarks/d.json": decision_report(candidate=8)}
    latency = {"compute": "change", "of": [side(name, "/latency/meanMs") for name in ("candidate", "baseline")], "decimals": 1}
    assert "concurrency (8 and 1)" in only(faults(lambda: figure(tmp_path, latency, receipts))).message
    accuracy = {"compute": "difference", "of": [side(name, "/accuracy") for name in ("candidate", "baseline")], "decimals": 2}
    assert figure(tmp_path, accuracy, receipts).shown == "0.00"


def test_perplexity_is_compared_with_that_of_the_reference(tmp_path: Path) -> None:
    receipt = {
        "kind": "fidelity",
        "schemaVersion": 1,
        "perplexity": {"reference": 8.0, "candidate": 8.5},
        "text": {"name": "t", "tokens": 9},
    }
    of_both = [{"receipt": A, "pointer": f"/perplexity/{name}"} for name in ("candidate", "reference")]
    assert figure(tmp_path, {"compute": "change", "of": of_both, "decimals": 2}, {A: receipt}).shown == "+6.25%"


def served(**changes: Any) -> dict[str, Any]:
    return {"model_id": "org/m", "request_rate": "inf", "max_concurrency": 16, "random_input_len": 1024, "completed": 160, "num_prompts": 160,
            "mean_ttft_ms": 40.0, "output_throughput": 900.0, **changes}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"max_concurrency": 32}, "concurrency at most (16 and 32)"), ({"request_rate": 4.0}, "request rate (unlimited and 4 req/s)"),
     ({"random_input_len": 8192}, "input tokens (1,024 and 8,192)")],
)  # fmt: skip
@pytest.mark.parametrize("pointer", ["/mean_ttft_ms", "/output_throughput"])
def test_servers_under_another_load_are_no_comparison(tmp_path: Path, changes: dict[str, Any], words: str, pointer: str) -> None:
    both = [{"receipt": file, "pointer": pointer} for file in (A, B)]
    asked = {"compute": "ratio", "of": both, "decimals": 2}
    assert words in only(faults(lambda: figure(tmp_path, asked, {A: served(), B: served(**changes)}))).message
    assert figure(tmp_path, {**asked, "compute": "quotient"}, {A: served(), B: served(**changes)}).shown == "1.00"
    assert figure(tmp_path, asked, {A: served(), B: served(num_speculative_tokens=7, num_prompts=200)}).shown == "1.00"


ROWS = [
    {"name": "mean latency, FP8", "value": 353.1, "unit": "ms"}, {"name": "mean latency, BF16", "value": 555.4, "unit": "ms"},
    {"name": "output", "value": 900.0, "unit": "tok/s", "conditions": {"profile": "fp8", "input tokens": 1024}},
    {"name": "output", "value": 600.0, "unit": "tok/s", "conditions": {"profile": "bf16", "input tokens": 1024}},
    {"name": "output", "value": 300.0, "unit": "tok/s", "conditions": {"profile": "bf16", "input tokens": 8192}},
]  # fmt: skip


def test_rows_that_were_written_into_one_file_to_be_compared_are(tmp_path: Path) -> None:
    """A receipt of plain figures holds both sides, under the names that its writer gave them."""
    receipts = {A: {"kind": "figures", "schemaVersion": 1, "rows": ROWS}, B: {"kind": "figures", "schemaVersion": 1, "rows": ROWS}}

    def asked(compute: str, first: int, second: int, file: str = A) -> dict[str, Any]:
        of_both = [{"receipt": A, "pointer": f"/rows/{first}/value"}, {"receipt": file, "pointer": f"/rows/{second}/value"}]
        return {"compute": compute, "of": of_both, "decimals": 1}

    assert figure(tmp_path, asked("percent_lower", 0, 1), receipts).shown == "36.4%"
    assert figure(tmp_path, asked("ratio", 2, 3), receipts).shown == "1.5"
    assert "input tokens (1,024 and 8,192)" in only(faults(lambda: figure(tmp_path, asked("ratio", 2, 4), receipts))).message
    assert "unit (ms and tok/s)" in only(faults(lambda: figure(tmp_path, asked("ratio", 0, 2), receipts))).message
    assert (
        "task (mean latency, FP8 and mean latency, BF16)"
        in only(faults(lambda: figure(tmp_path, asked("ratio", 0, 1, B), receipts))).message
    )


@pytest.mark.parametrize(
    ("form", "shown"),
    [({"from": "ms", "as": "duration"}, "40.0 ms"), ({"from": "ms", "unit": "s", "decimals": 2}, "0.04 s"), ({"unit": "ms", "decimals": 1}, "40.0 ms"),
     ({"decimals": 1}, "40.0"), ({"unit": "ms a token", "decimals": 0}, "40 ms a token"), ({"from": "s", "as": "duration"}, ""), ({"as": "duration"}, ""),
     ({"unit": "s"}, ""), ({"from": "MiB"}, ""), ({"from": "us", "unit": "ms"}, ""), ({"as": "bytes"}, "")],
)  # fmt: skip
def test_a_value_whose_unit_a_harness_names_is_not_taken_for_another(tmp_path: Path, form: dict[str, Any], shown: str) -> None:
    asked, receipts = {"receipt": A, "pointer": "/mean_ttft_ms", **form}, {A: served()}
    if shown:
        assert figure(tmp_path, asked, receipts).shown == shown
        return
    found = only(faults(lambda: figure(tmp_path, asked, receipts)))
    assert ("/mean_ttft_ms is in ms" in found.message, "from: ms" in found.mend) == (True, True)


def test_a_latency_whose_name_says_no_unit_is_in_what_release_yaml_says(tmp_path: Path) -> None:
    """Tools that took the suffix off are of two minds."""
    receipts = {A: served(median_ttft=3.138)}
    for unit, shown in (("s", "3.138 s"), ("ms", "3.1 ms")):
        assert figure(tmp_path, {"receipt": A, "pointer": "/median_ttft", "from": unit, "as": "duration"}, receipts).shown == shown


def test_what_is_better_where_it_is_lower_has_no_recovery(tmp_path: Path) -> None:
    """A perplexity that rose by a tenth would be "110% recovered"."""
    rows = {"wikitext": {"word_perplexity,none": 11.0, "brier_score,none": 0.2}}
    given = {
        "results": rows,
        "config": {"model_args": "pretrained=x"},
        "higher_is_better": {"wikitext": {"brier_score": False, "word_perplexity": False}},
    }
    receipts = {A: given, B: {**given, "results": {"wikitext": {"word_perplexity,none": 10.0, "brier_score,none": 0.2}}}}
    for metric in ("word_perplexity", "brier_score"):
        asked = {"compute": "recovery", "of": [of(A, "wikitext", metric=metric), of(B, "wikitext", metric=metric)], "decimals": 1}
        found = only(faults(lambda asked=asked: figure(tmp_path, asked, receipts)))
        assert (f"{metric} of wikitext is better where it is lower" in found.message, "change" in found.mend) == (True, True)
    asked = {
        "compute": "change",
        "of": [of(A, "wikitext", metric="word_perplexity"), of(B, "wikitext", metric="word_perplexity")],
        "decimals": 1,
    }
    assert figure(tmp_path, asked, receipts).shown == "+10.0%"


def test_a_part_of_a_whole_is_no_comparison(tmp_path: Path) -> None:
    receipts = {A: lm_eval(0.5), B: lm_eval(0.4, versions={"mmlu": 9})}
    assert figure(tmp_path, {"compute": "share", "of": [of(A), of(B)], "decimals": 1}, receipts).shown == "125.0%"


def test_averages_of_other_tasks_are_no_comparison(tmp_path: Path) -> None:
    receipts = {A: lm_eval(0.5), B: lm_eval(0.4)}
    strict = {"metric": "exact_match", "filter": "strict"}
    both = {"compute": "average", "of": [of(A), of(A, "gsm8k", **strict)], "decimals": 2}
    alone = {"compute": "average", "of": [of(B)], "decimals": 2}
    asked = {"compute": "recovery", "of": ["both", "alone"], "decimals": 1}
    assert "one side lacks gsm8k" in only(faults(lambda: figure(tmp_path, asked, receipts, both=both, alone=alone))).message


def test_a_task_with_several_metrics_has_to_be_said_exactly(tmp_path: Path) -> None:
    found = only(faults(lambda: figure(tmp_path, of(A, "gsm8k"), {A: lm_eval(0.5)})))
    assert "2 values for task gsm8k: exact_match (strict), exact_match (flexible)" in found.message
    absent = only(faults(lambda: figure(tmp_path, of(A, "hellaswag"), {A: lm_eval(0.5)})))
    assert absent.mend.startswith("it has gsm8k")
    many = {"results": {f"task_{n:03}": {"acc,none": 0.5} for n in range(60)}, "config": {"model_args": "pretrained=x"}}
    near = only(faults(lambda: figure(tmp_path, of(A, "task_59"), {A: many})))
    assert near.mend == f'write "task_059"; it has {", ".join(list(many["results"])[:20])} and 40 more'
    twice = only(faults(lambda: figure(tmp_path, of(A), {A: [lm_eval(0.5), lm_eval(0.4)]})))
    assert twice.mend == "give the pointer of the one that is meant: /0/results/mmlu/acc,none, /1/results/mmlu/acc,none"
    foreign = only(faults(lambda: figure(tmp_path, of("benchmarks/n.json"))))
    assert "no adapter reads this receipt" in foreign.mend


# ------------------------------------------------------------------------------------------------------- release.yaml


@pytest.mark.parametrize(
    "asked",
    [{"compute": "recovery"}, {"compute": "magic", "of": ["x"]}, {"compute": "sum", "of": []}, {"compute": "sum", "of": ["x"], "pointer": "/a"}, {"receipt": A},
     {"receipt": A, "pointer": "/a", "task": "b"}, {"lock": "x", "task": "b"}, {"receipt": A, "pointer": "/a", "rounded": True}, {"figure": "a", "receipt": A},
     {"compute": "sum", "of": [{"compute": "sum", "of": ["x"]}]}, {"pointer": "/a"}, {"receipt": A, "pointer": "/a", "from": "furlong"}],
    ids=repr,
)  # fmt: skip
def test_a_figure_that_makes_no_sense_is_refused_with_the_spec(tmp_path: Path, asked: Any) -> None:
    assert problems(tmp_path, {**MINIMAL, "card": {"figures": {"x": asked}}})[0].where.pointer.startswith("/card/figures/x")  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------- where figures stand


def test_every_figure_placed_is_known_with_its_place(tmp_path: Path) -> None:
    named = {
        "a": at("/one", unit="×"),
        "b": {"compute": "share", "of": ["a", at("/slow")], "decimals": 3},
        "free": {"spec": True, "pointer": "/card/stated/free", "unit": "GiB"},
    }
    table = {"title": "t", "columns": ["k", "v"], "rows": [["x", [{"figure": "a"}, " of ", at("/name")]]]}
    made = rendered(facts(tmp_path, named, summary="It is {=a}, or {=b}; *{=free}*.", stated={"free": 32}, tables=[table]))
    lines = made.text.split("\n")
    assert [(p.text, p.figure.source, p.figure.pointer) for p in made.figures] == [
        ("1 ×", "receipt", "/one"), ("0.180%", "derived", ""), ("32 GiB", "spec", "/card/stated/free"), ("1 ×", "receipt", "/one"), ("x", "receipt", "/name")]  # fmt: skip
    assert all(lines[p.line - 1][p.column - 1 : p.end_column - 1] == p.text for p in made.figures)
    assert "It is 1 ×, or 0.180%; *32 GiB (stated)*." in lines
    json.dumps([p.figure.as_json() for p in made.figures])


@pytest.mark.parametrize("template", ["{% set x %}{{ figures.a }}{% endset %}{{ x | md }} {{ figures.a | md }}", "{% macro m() %}{{ figures.a }}{% endmacro %}{{ m() }} {{ m() | line }}", "{{ 'a ' ~ figures.a }}{{ figures['a'] | code }}"])  # fmt: skip
def test_no_mark_is_left_in_the_card(tmp_path: Path, template: str) -> None:
    made_facts = facts(tmp_path, {"a": at("/one")}, template="own.j2")
    (tmp_path / "own.j2").write_text(template)
    made = rendered(made_facts)
    assert "\x02" not in made.text
    assert "\x03" not in made.text
    assert all(p.text in ("1", "1 ") for p in made.figures)


def test_a_template_that_cuts_a_figure_apart_is_told_so(tmp_path: Path) -> None:
    made_facts = facts(tmp_path, {"a": at("/one")}, template="own.j2")
    (tmp_path / "own.j2").write_text("{% set x %}{{ figures.a }}{% endset %}{{ x[:12] }}")
    assert "cuts a figure apart" in only(faults(lambda: rendered(made_facts))).message
