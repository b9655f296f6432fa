"""The figures of a paired report against values worked out by hand, and against the definitions that it states."""

from __future__ import annotations

import json
import math
import random
from array import array
from pathlib import Path
from typing import Any

import pytest
from decision_rows import row, runs, session, two_runs, write
from jsonschema import Draft202012Validator

from hubrelease import canonical, resources
from hubrelease.decisions import bootstrap, calibration, latency, paired
from hubrelease.decisions.columns import Side, Table
from hubrelease.decisions.report import compare

Report = dict[str, Any]


def report(folder: Path, before: list[Any], after: list[Any]) -> Report:
    return compare(write(folder / "a.jsonl", before, profile="BF16"), write(folder / "b.jsonl", after, profile="FP8"))


def binary(number: int, probability: float, correct: bool, **more: Any) -> dict[str, Any]:
    """A row of two candidates whose choice has that probability."""
    named = {"candidates": ["yes", "no"], "probabilities": [probability, 1 - probability], "choice": "yes"}
    return row(number, **named, label="yes" if correct else "no", **more)


# ----------------------------------------------------------------------------------------------------- accuracy, ECE, NLL


def test_accuracy_ece_and_nll_are_what_their_definitions_give(tmp_path: Path) -> None:
    """Two bins: 0.9 three times, right twice; 0.6 twice, right once."""
    rows = [binary(n, p, right) for n, (p, right) in enumerate([(0.9, True), (0.9, True), (0.9, False), (0.6, True), (0.6, False)])]
    found = report(tmp_path, rows, rows)["candidate"]
    assert (found["correct"], found["rows"], found["accuracy"]) == (3, 5, 0.6)
    assert found["ece"] == pytest.approx(3 / 5 * abs(2 / 3 - 0.9) + 2 / 5 * abs(1 / 2 - 0.6), abs=1e-15)
    assert found["meanNll"] == pytest.approx(-(2 * math.log(0.9) + math.log(0.1) + math.log(0.6) + math.log(0.4)) / 5, abs=1e-15)


def test_uniform_answers_over_n_candidates_have_an_nll_of_ln_n(tmp_path: Path) -> None:
    names = [str(n) for n in range(8)]
    rows = [row(n, candidates=names, probabilities=[0.125] * 8, choice="0", label=str(n % 8)) for n in range(64)]
    found = report(tmp_path, rows, rows)["baseline"]
    assert found["meanNll"] == pytest.approx(math.log(8), abs=1e-15)
    assert found["accuracy"] == 0.125
    assert found["ece"] == 0


def test_a_label_of_probability_zero_counts_as_the_stated_floor(tmp_path: Path) -> None:
    found = report(tmp_path, [binary(0, 1, False)], [binary(0, 1, False)])["candidate"]
    assert found["meanNll"] == 52 * math.log(2)
    assert found["nllAtFloor"] == 1


@pytest.mark.parametrize(
    ("confidence", "place"), [(0, 0), (1 / 15, 0), (math.nextafter(1 / 15, 1), 1), (0.2, 2), (0.5, 7), (0.6, 8), (1, 14)]
)
def test_a_bin_holds_its_upper_edge(confidence: float, place: int) -> None:
    side = Side(bytearray([1]), array("d", [confidence]), array("d", [0]), array("d", [1]))
    assert [b["rows"] for b in calibration.bins(side)] == [int(k == place) for k in range(15)]


def test_the_error_of_calibration_is_that_of_its_bins(tmp_path: Path) -> None:
    found = compare(*two_runs(tmp_path, 300))["candidate"]
    assert found["ece"] == calibration.expected_error(found["bins"])
    assert sum(b["rows"] for b in found["bins"]) == found["rows"] == 300


# ------------------------------------------------------------------------------------------------------------ paired counts


def test_who_was_right_where(tmp_path: Path) -> None:
    """Answers of three candidates: right and right, only here, only there, both wrong alike, both wrong otherwise."""
    outcomes = [("a", "a")] * 5 + [("b", "a")] * 1 + [("a", "c")] * 4 + [("b", "b")] * 2 + [("b", "c")] * 3
    probabilities = {"a": [0.6, 0.3, 0.1], "b": [0.3, 0.6, 0.1], "c": [0.1, 0.3, 0.6]}
    before, after = ([row(n, choice=o[side], probabilities=probabilities[o[side]]) for n, o in enumerate(outcomes)] for side in (0, 1))
    found = report(tmp_path, before, after)["comparison"]
    names = ("rows", "answersDiffer", "bothCorrect", "onlyBaselineCorrect", "onlyCandidateCorrect", "neitherCorrect")
    assert [found[name] for name in names] == [15, 8, 5, 4, 1, 5]
    assert found["accuracyDifference"] == pytest.approx(-3 / 15)
    assert found["mcnemarP"] == 2 * (1 + 5) / 2**5


@pytest.mark.parametrize(("left", "right", "p"), [
    (0, 0, 1), (3, 3, 1), (0, 1, 1), (0, 6, 2 / 64), (5, 1, 14 / 64), (10, 2, 2 * (1 + 12 + 66) / 4096),
    (148, 125, 0.18292143505446934), (69, 300, 1.8837589823732134e-35), (5000, 5300, 0.003215819673645259), (0, 2000, 0),
])  # fmt: skip
def test_mcnemars_exact_p(left: int, right: int, p: float) -> None:
    """By hand, and for larger counts as scipy.stats.binomtest gives it (test_against_libraries.py)."""
    assert paired.mcnemar(left, right) == pytest.approx(p, rel=1e-11, abs=0)
    assert paired.mcnemar(left, right) == paired.mcnemar(right, left)


def test_the_counts_of_a_published_table() -> None:
    """19,035 and 19,012 of 23,900 right, 148 and 125 of them alone, 324 answers different: the rest follows."""
    both = 19_035 - 148
    outcomes = [(1, 1, 1)] * both + [(1, 0, 0)] * 148 + [(0, 1, 0)] * 125 + [(0, 0, 0)] * 51
    outcomes += [(0, 0, 1)] * (23_900 - len(outcomes))
    left, right, same = (bytearray(column) for column in zip(*outcomes, strict=True))
    found = paired.outcomes(Table(Side(correct=left), Side(correct=right), same=same))
    assert sum(right) == 19_012
    assert (found["answersDiffer"], found["neitherCorrect"], found["bothCorrect"]) == (324, 4_740, 18_887)
    assert found["mcnemarP"] > 0.05


# ---------------------------------------------------------------------------------------------------- latency, differences


def test_quantiles_are_linear_between_values_in_order(tmp_path: Path) -> None:
    rows = [row(n, latencyMs=float(10 * n)) for n in (3, 0, 1, 2, 4)]
    assert report(tmp_path, rows, rows)["baseline"]["latency"] == {
        "meanMs": 20, "minimumMs": 0, "p50Ms": 20, "p90Ms": pytest.approx(36), "p95Ms": pytest.approx(38),
        "p99Ms": pytest.approx(39.6), "maximumMs": 40,
    }  # fmt: skip
    assert latency.quantile([7.0], 0.99) == 7


def test_buckets_are_by_input_length_and_the_empty_ones_are_there(tmp_path: Path) -> None:
    lengths = [0, 256, 257, 1024, 16384, 16385, 39111]
    before = [row(n, inputTokens=tokens, latencyMs=100.0) for n, tokens in enumerate(lengths)]
    after = [row(n, inputTokens=tokens, latencyMs=63.6) for n, tokens in enumerate(lengths)]
    found = report(tmp_path, before, after)
    assert [(b["inputTokens"], b["rows"]) for b in found["buckets"]] == [
        ("<=256", 2),
        ("257-1,024", 2),
        ("1,025-4,096", 0),
        ("4,097-16,384", 1),
        (">16,384", 2),
    ]
    assert found["buckets"][2]["candidate"] is None
    assert found["comparison"]["meanLatencyChangePercent"] == pytest.approx(-36.4)
    assert found["candidate"]["longestInputTokens"] == 39111


def test_latency_at_another_concurrency_is_not_compared(tmp_path: Path) -> None:
    files = write(tmp_path / "a", [row()], concurrency=1), write(tmp_path / "b", [row()], concurrency=4)
    found = compare(*files)
    assert found["comparison"]["meanLatencyChangePercent"] is None
    assert all(b["meanLatencyChangePercent"] is None for b in found["buckets"])


def test_differences_are_over_every_candidate_whatever_their_order(tmp_path: Path) -> None:
    before = [row(0, probabilities=[0.6, 0.25, 0.15]), row(1), row(2)]
    after = [row(0, candidates=["c", "b", "a"], probabilities=[0.25, 0.25, 0.5]), row(1, probabilities=[0.5, 0.3, 0.2]), row(2)]
    found = report(tmp_path, before, after)["probabilityDifferences"]
    assert found["candidates"] == 9
    assert found["median"] == 0
    assert found["maximum"] == pytest.approx(0.1)
    assert (found["rowsAtLeast"], found["rowsAtLeastShare"]) == (1, 1 / 3)  # 0.6 - 0.5 is 0.10 or more, 0.05 is not


# ------------------------------------------------------------------------------------------------------------- what was run


def test_samples_of_all_sessions_are_taken_together(tmp_path: Path) -> None:
    rows = [
        session("start", 395, warmupRows=8), row(0), session("progress", 395, 19968, 100),
        session("start", 395, warmupRows=8), row(1), session("progress", 300, 19000, 50), session("end", 395, 19001, 60),
    ]  # fmt: skip
    found = report(tmp_path, rows, [row(0), row(1)])
    run = found["baseline"]["run"]
    assert run["powerLimit"] == {"startW": [395], "endW": [395], "changed": True}
    assert run["memory"] == {"peakMiB": 19968, "scope": "process", "samplePeriodS": 1.0, "samples": 160}
    assert (run["sessions"], run["finished"], run["warmupRows"]) == (2, True, 16)
    assert found["candidate"]["run"]["powerLimit"] is found["candidate"]["run"]["memory"] is None


def test_what_was_not_answered_is_counted_and_not_compared(tmp_path: Path) -> None:
    before = [row(n) for n in range(5)]
    after = [row(0), *(row(n, status=s, probabilities=None, choice=None, latencyMs=None, reason="500") for n, s in enumerate(("failed", "excluded", "truncated"), 1)), row(4)]  # fmt: skip
    found = report(tmp_path, before, after)
    assert found["candidate"]["statuses"] == {"ok": 2, "failed": 1, "excluded": 1, "truncated": 1}
    assert found["baseline"]["statuses"] == {"ok": 5, "failed": 0, "excluded": 0, "truncated": 0}
    assert (found["matching"]["compared"], found["matching"]["notAnswered"]) == (2, 3)
    assert found["baseline"]["rows"] == 2


def test_rotations_and_choices_against_the_odds_are_counted(tmp_path: Path) -> None:
    rows = [row(0), row(1, rotations=3), row(2, choice="b", abstained=True), row(3, rotations=None)]
    found = report(tmp_path, rows, rows)["candidate"]
    assert found["rotations"] == [{"rotations": 3, "rows": 1}, {"rotations": 4, "rows": 2}, {"rotations": None, "rows": 1}]
    assert (found["choiceNotMostProbable"], found["abstained"]) == (1, 1)


# ------------------------------------------------------------------------------------------------------ the report as a whole


def test_tasks_add_up_to_the_whole(tmp_path: Path) -> None:
    found = compare(*two_runs(tmp_path, 400))
    for name in ("rows", "answersDiffer", "bothCorrect", "onlyBaselineCorrect", "onlyCandidateCorrect", "neitherCorrect"):
        assert sum(t["comparison"][name] for t in found["tasks"]) == found["comparison"][name]
    for side in ("baseline", "candidate"):
        assert sum(t[side]["correct"] for t in found["tasks"]) == found[side]["correct"]
    assert sum(b["rows"] for b in found["buckets"]) == found["matching"]["compared"] == 400


def test_a_report_fits_its_schema_and_is_the_same_every_time(tmp_path: Path) -> None:
    files = two_runs(tmp_path, 200)
    first = canonical.dumps(compare(*files))
    assert first == canonical.dumps(compare(*files))
    assert list(Draft202012Validator(resources.schema("decision-report")).iter_errors(json.loads(first))) == []


def test_the_order_of_rows_changes_no_figure(tmp_path: Path) -> None:
    made = list(runs(120))
    other = random.Random(5).sample(made, len(made))
    plain = report(tmp_path, [p[0] for p in made], [p[1] for p in made])
    for files in ((other, other), (made, other), (other, made)):
        found = report(tmp_path, [p[0] for p in files[0]], [p[1] for p in files[1]])
        for side in ("baseline", "candidate"):
            found[side]["file"] = plain[side]["file"]
        assert found == plain


def test_equal_runs_differ_in_nothing(tmp_path: Path) -> None:
    rows = [p[0] for p in runs(100)]
    found = report(tmp_path, rows, rows)
    assert found["comparison"]["intervals"]["nll"]["difference"] == [0, 0]
    assert (found["comparison"]["answersDiffer"], found["comparison"]["mcnemarP"]) == (0, 1)
    assert found["probabilityDifferences"]["maximum"] == 0


# ---------------------------------------------------------------------------------------------------------------- intervals


def table(latencies: list[float]) -> Table:
    n = len(latencies)
    side = Side(bytearray(n), array("d", [0] * n), array("d", [0.5] * n), array("d", latencies))
    keys = array("Q", [random.Random(k).getrandbits(64) for k in range(n)])
    return Table(side, side, array("Q", [1] * n), bytearray(n), keys)


def test_an_interval_is_as_wide_as_the_standard_error_says() -> None:
    """1.96 standard errors to each side of the mean, within the noise of 1,000 resamples; in groups (3,000 rows) as by rows (400)."""
    for rows in (400, 3000):
        values = [random.Random(k).gauss(50, 10) for k in range(rows)]
        low, high = bootstrap.intervals(table(values))["latencyMs"]["baseline"]
        assert (high - low) / 2 == pytest.approx(1.96 * 10 / math.sqrt(rows), rel=0.12)
        assert low < sum(values) / rows < high


def test_an_interval_of_one_row_is_that_row() -> None:
    assert bootstrap.intervals(table([7.0]))["latencyMs"]["baseline"] == [7, 7]


def test_the_first_draws_are_those_of_the_stated_generator() -> None:
    import hashlib

    word = int.from_bytes(hashlib.shake_128(b"20261130:0").digest(4), "little")
    assert next(bootstrap.draws(1000))(list(range(1000)))[0] == word * 1000 >> 32
