"""card.plots: figures found, refused with their place, said in words; colours that can be seen. Needs no matplotlib."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from decision_rows import two_runs
from specs import MINIMAL, folder, load, local, problems

import hubrelease
from hubrelease import cards
from hubrelease.checker import check
from hubrelease.decisions.report import compare
from hubrelease.errors import CheckFailed, OutsideError
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.phrases import Say
from hubrelease.plots import alt_text, pictures, plots_of, style

SCORES = {"mmlu": [0.5518, 0.6058], "gsm8k": [0.7407, 0.7392], "tokens": [[1, 24.86], [16, 173.77]]}
SCORE = {"receipt": "benchmarks/s.json"}
RECOVERY = {
    "kind": "recovery", "file": "assets/recovery.png", "title": "Recovery of the tiny model",
    "bars": [
        {"label": "MMLU (5-shot)", "figure": {"compute": "recovery", "decimals": 1, "of": [{**SCORE, "pointer": "/mmlu/1"}, {**SCORE, "pointer": "/mmlu/0"}]}},
        {"label": "GSM8K", "figure": {"compute": "recovery", "decimals": 1, "of": [{**SCORE, "pointer": "/gsm8k/1"}, {**SCORE, "pointer": "/gsm8k/0"}]}},
    ],
}  # fmt: skip
THROUGHPUT = {
    "kind": "throughput", "file": "assets/throughput.png",
    "series": [{"label": "Generation", "points": [{"concurrency": {**SCORE, "pointer": f"/tokens/{n}/0"}, "throughput": {**SCORE, "pointer": f"/tokens/{n}/1", "unit": "tok/s"}} for n in (0, 1)]}],
}  # fmt: skip
LATENCY = {"kind": "latency", "file": "assets/latency.png", "receipt": "benchmarks/d.json"}
RELIABILITY = {"kind": "reliability", "file": "assets/reliability.png", "receipt": "benchmarks/d.json"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return compare(*two_runs(tmp_path_factory.mktemp("runs"), 120))


def facts(folder: Path, plots: list[Any], receipts: dict[str, Any] | None = None) -> Facts:
    asked = {**MINIMAL, "benchmarks": [{"receipt": "s.json"}], "card": {"plots": plots}}
    return Facts(load(folder, asked, s__json=SCORES), Lock(), {"benchmarks/s.json": SCORES, **(receipts or {})}, None)


def refusal(folder: Path, plot: dict[str, Any], receipts: dict[str, Any] | None = None) -> tuple[str, str | None, str]:
    with pytest.raises(CheckFailed) as caught:
        plots_of(facts(folder, [plot], receipts))
    (found,) = caught.value.problems
    return found.code, found.where.pointer, found.message


# ------------------------------------------------------------------------------------------------------------- in words


def test_alt_text_says_every_value_as_the_card_shows_it(tmp_path: Path, report: dict[str, Any]) -> None:
    made = plots_of(facts(tmp_path, [RECOVERY, THROUGHPUT, LATENCY, RELIABILITY], {"benchmarks/d.json": report}))
    said = [alt_text(plot, Say("en")) for plot in made]
    assert said[0] == "Recovery of the tiny model. MMLU (5-shot) 109.8%; GSM8K 99.8%."
    assert said[1] == "Throughput by concurrency. Generation: 24.86 tok/s at concurrency 1, 173.77 tok/s at concurrency 16."
    assert said[2].startswith("Mean latency by input length. FP8 against BF16; <=256 tokens ")
    assert f"FP8, ECE {report['candidate']['ece']:.6f}: " in said[3]
    for plot, text in zip(made, said, strict=True):
        assert all(figure.shown in text for figure in plot.figures())
        assert "\n" not in text


def test_the_card_shows_it_with_what_it_says(tmp_path: Path, report: dict[str, Any]) -> None:
    card = cards.render(facts(tmp_path, [RECOVERY]))
    assert "![Recovery of the tiny model. MMLU (5-shot)" in card.replace("\\", "")
    assert "](assets/recovery.png)" in card


def test_every_value_of_a_plot_has_its_source(tmp_path: Path, report: dict[str, Any]) -> None:
    for plot in plots_of(facts(tmp_path, [RECOVERY, THROUGHPUT, LATENCY, RELIABILITY], {"benchmarks/d.json": report})):
        leaves = [leaf for figure in plot.figures() for leaf in figure.leaves()]
        assert leaves
        assert all(leaf.file in ("benchmarks/s.json", "benchmarks/d.json") and leaf.pointer for leaf in leaves)


def test_a_bucket_without_rows_is_left_out(tmp_path: Path, report: dict[str, Any]) -> None:
    thin = copy.deepcopy(report)
    thin["buckets"][0] |= {"rows": 0, "baseline": None, "candidate": None, "meanLatencyChangePercent": None}
    (plot,) = plots_of(facts(tmp_path, [LATENCY], {"benchmarks/d.json": thin}))
    assert "<=256" not in alt_text(plot, Say("en"))


def test_runs_of_one_name_are_told_apart(tmp_path: Path, report: dict[str, Any]) -> None:
    """Two releases served under one profile, or none: by model, as in the tables, and else by their parts."""
    for profile, model, said in (
        ("fused", "org/m", "fused (candidate) against fused (baseline)"),
        (None, None, "candidate against baseline"),
    ):
        same = copy.deepcopy(report)
        for side in ("baseline", "candidate"):
            same[side]["run"] |= {"profile": profile, "model": model and {"name": model}}
        (plot,) = plots_of(facts(tmp_path, [LATENCY], {"benchmarks/d.json": same}))
        assert said in alt_text(plot, Say("en"))
    same["baseline"]["run"]["model"], same["candidate"]["run"]["model"] = {"name": "org/base"}, {"name": "org/fp8"}
    (plot,) = plots_of(facts(tmp_path, [RELIABILITY], {"benchmarks/d.json": same}))
    assert "org/fp8, ECE" in alt_text(plot, Say("en"))


# -------------------------------------------------------------------------------------------------------------- refusals


def test_what_is_no_paired_report_is_refused(tmp_path: Path, report: dict[str, Any]) -> None:
    assert refusal(tmp_path, LATENCY) == ("HR606", "/card/plots/0/receipt", '"benchmarks/d.json" is no paired report of this release')
    broken = json.loads(json.dumps(report)) | {"buckets": "none"}
    assert "does not fit decision-report.schema.json" in refusal(tmp_path, LATENCY, {"benchmarks/d.json": broken})[2]


def test_a_bar_that_is_no_share_and_a_point_without_numbers_are_refused(tmp_path: Path) -> None:
    bars = [{"label": "x", "figure": {"spec": True, "pointer": "/name"}}]
    assert refusal(tmp_path, RECOVERY | {"bars": bars})[:2] == ("HR606", "/card/plots/0/bars/0")
    points = [{"concurrency": {**SCORE, "pointer": "/tokens/0/0"}, "throughput": {"spec": True, "pointer": "/name"}}]
    assert refusal(tmp_path, THROUGHPUT | {"series": [{"label": "", "points": points}]})[:2] == ("HR606", "/card/plots/0/series/0/points/0")


def test_a_pointer_to_nowhere_is_refused_with_its_place(tmp_path: Path) -> None:
    bars = [{"label": "x", "figure": {**SCORE, "pointer": "/nowhere"}}]
    code, pointer, message = refusal(tmp_path, RECOVERY | {"bars": bars})
    assert (code, pointer) == ("HR601", "/card/plots/0/bars/0/figure")
    assert "nothing at /nowhere" in message


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no figures": ({"kind": "recovery", "file": "assets/a.png"}, '"bars" is missing'),
    "figures of another kind": (LATENCY | {"bars": RECOVERY["bars"]}, '"bars" is not for plots of the kind latency'),
    "a file elsewhere": (LATENCY | {"file": "model.png"}, "assets/latency.png"),
    "a path out of the folder": (LATENCY | {"file": "assets/../../x.png"}, "assets/latency.png"),
    "an unknown kind": (LATENCY | {"kind": "pie"}, "must be one of recovery"),
    "a figure without a source": (RECOVERY | {"bars": [{"label": "x", "figure": {"decimals": 1}}]}, "the figure has no source"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_plot_that_can_not_be_meant_is_refused_in_release_yaml(tmp_path: Path, name: str) -> None:
    plot, message = WRONG[name]
    asked = {**MINIMAL, "benchmarks": [{"receipt": "s.json"}], "card": {"plots": [plot]}}
    assert any(message in p.message + p.mend for p in problems(tmp_path, asked))


def test_check_tells_of_plots_that_a_build_would_refuse(tmp_path: Path) -> None:
    """Before any build, and without matplotlib."""
    wrong = {
        "no share of the baseline": RECOVERY | {"bars": [{"label": "x", "figure": {**SCORE, "pointer": "/tokens/1/1"}}]},
        "nothing at /nowhere": RECOVERY | {"bars": [{"label": "x", "figure": {**SCORE, "pointer": "/nowhere"}}]},
        "no paired report": LATENCY | {"receipt": "benchmarks/s.json"},
        "has concurrency": THROUGHPUT | {"series": [{"label": "", "points": [{"concurrency": {"spec": True, "pointer": "/name"}, "throughput": {**SCORE, "pointer": "/tokens/0/1"}}]}]},
        "the font of plots has no 복, 회": RECOVERY | {"title": "회복"},
        "the font of plots has no 均": RECOVERY | {"bars": [{**RECOVERY["bars"][0], "label": "均"}]},
    }  # fmt: skip
    for number, (words, plot) in enumerate(wrong.items()):
        root = folder(
            tmp_path / str(number),
            {**MINIMAL, "benchmarks": [{"receipt": "s.json", "kind": "plain"}], "card": {"plots": [plot]}},
            s__json=SCORES,
        )
        told = check(root)
        assert [p.code for p in told if words in p.message] in (["HR606"], ["HR601"]), (words, told)
        assert all(p.where.line and (p.where.pointer or "").startswith("/card/plots/0") for p in told)


def test_titles_in_other_scripts_are_for_the_alt_text_alone(tmp_path: Path) -> None:
    plot = RECOVERY | {
        "title": {"en": "Recovery", "ko": "회복률"},
        "bars": [{**RECOVERY["bars"][0], "label": {"en": "Mean", "ko": "평균"}}],
    }
    spec = {**MINIMAL, "benchmarks": [{"receipt": "s.json", "kind": "plain"}], "card": {"plots": [plot], "locales": ["ko", "en"]}}
    assert check(folder(tmp_path, spec, s__json=SCORES)) == []


def test_two_plots_can_not_have_one_file(tmp_path: Path) -> None:
    asked = {**MINIMAL, "card": {"plots": [LATENCY, RELIABILITY | {"file": LATENCY["file"]}]}}
    assert any("is also the path of /card/plots/0/file" in p.message for p in problems(tmp_path, asked))


def test_without_matplotlib_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert pictures(facts(tmp_path / "none", [])) == {}
    with pytest.raises(OutsideError) as caught:
        pictures(facts(tmp_path, [RECOVERY]))
    assert caught.value.problems[0].mend == "pip install 'hubrelease[plots]'"


def test_a_build_without_matplotlib_says_so_and_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "s.json").write_text(json.dumps(SCORES))
    root = local(tmp_path / "p", benchmarks=[{"receipt": "s.json", "kind": "plain"}], card={"plots": [RECOVERY]})
    with pytest.raises(OutsideError, match="matplotlib"):
        hubrelease.build(hubrelease.load_spec(root), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --------------------------------------------------------------------------------------------------------------- colours


def linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio."""
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(linear, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#0d1117"])
def test_colours_are_seen_on_light_and_dark_pages(page: str) -> None:
    assert all(contrast(colour, page) >= 3 for colour in style.COLOURS)
    assert contrast(style.TEXT, page) > 4.2
    assert style.SIZE >= 14  # and bold: large text


SEEN_AS = {  # Machado, Oliveira, Fernandes 2009, severity 1.0
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("kind", SEEN_AS)
def test_the_two_main_colours_stay_apart_for_the_colour_blind(kind: str) -> None:
    seen = [[sum(w * c for w, c in zip(row, linear(colour), strict=True)) for row in SEEN_AS[kind]] for colour in style.COLOURS[:2]]
    assert sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5 > 0.25
