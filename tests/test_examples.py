"""The examples beside minilm: cards from receipts that hold what four real releases published, equal to the last digit.

The texts that those releases published (../shared/seeds) are other people's: they are read in place, and held against the cards by
their figures alone. Where that folder is missing, those tests are skipped by name.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from cards import judged
from huggingface_hub import ModelCard

import hubrelease
from hubrelease import lock as locks
from hubrelease.card_command import Made, card_of
from hubrelease.cards import readme_locales
from hubrelease.checker import check
from hubrelease.digest import FileDigest
from hubrelease.errors import Problem
from hubrelease.lock import Lock, LockedSource, request_of

ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT.parent / "shared" / "seeds"
EXAMPLES = {  # example → the texts about it, by the beginning of their names: how many numbers, and cells of tables that hold figures
    "imajev-fp8-sm120": {"000": (58, 25), "001": (28, 0)},
    "qwen-nvfp4a16": {"002": (96, 47)},
    "chart-captions-dflash": {"003": (8, 0)},
    "moe-nvfp4-w4a4": {"004": (38, 19)},
}
# Example → what was published and is not what the data gives, by its place in release.yaml: (published, computed).
UNRECONCILED = {
    "qwen-nvfp4a16": {
        "/card/figures/arc_fp8-dynamic_kept/published": ("98.8%", "98.7%"),
        "/card/figures/average_awq-8bit/published": ("60.81", "60.80"),
        "/card/figures/arc_nvfp4_kept/published": ("98.8%", "98.7%"),
    }
}
LICENSES = {"moe-nvfp4-w4a4": "mit"}  # apache-2.0 otherwise
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)*(?!\w)\s?(?:%|ms\b|s\b|MiB\b|GiB\b|GB\b|W\b)?")
COUNT = r"\d[\d,]*(?:\.\d+)?"
FIGURE = re.compile(rf"{COUNT}(?:/{COUNT})?\s?(?:%|ms|s)?(?: \([+]?{COUNT}%\))?")
# Cells of the texts' tables that the card prints as two: the change is that of this model, and is printed beside the original's.
SPLIT = {"1.5703 (+4.3%)": ["1.5703", "+4.3%"]}
# Cells of the six-benchmark table that the published scores do not give: (row, column) → what they give.
NOT_REPRODUCED = {
    ("ARC-Challenge (0-shot)", "FP8-dynamic"): "98.7%",
    ("ARC-Challenge (0-shot)", "NVFP4"): "98.7%",
    ("Average", "AWQ-8bit"): "60.80",
}


@cache
def card(example: str) -> Made:
    return card_of(ROOT / "examples" / example)


def texts() -> list:
    found = [
        pytest.param(example, path, *counts, id=f"{example}-{begins}")
        for example, names in EXAMPLES.items()
        for begins, counts in names.items()
        for path in sorted(SEEDS.glob(f"{begins}_*"))
    ]
    return found or [
        pytest.param("", None, 0, 0, marks=pytest.mark.skip(reason="no ../shared/seeds here: 5 published texts are not compared"))
    ]


def numbers(text: str) -> set[str]:
    """Every number with its unit, as typed but for blanks."""
    return {re.sub(r"\s", "", found[0]).rstrip(",") for found in NUMBER.finditer(text)}


def bare(number: str) -> str:
    return re.sub(r"[^\d.,]+$", "", number)


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row of a Markdown text, without the mark of what was published as another value."""
    for line in text.split("\n"):
        if line.startswith("|") and not line.startswith("|---"):
            yield [cell.strip().replace("&lt;", "<").replace("&gt;", ">").replace("†", "") for cell in line.strip().strip("|").split("|")]


def holds(there: list[str], cells: list[str]) -> bool:
    """True if all cells stand in a row, in their order."""
    left = iter(there)
    return all(cell in left for cell in cells)


# ---------------------------------------------------------------------------------------------------------- every example


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_but_the_pin_is_missing(example: str) -> None:
    """A pin needs the Hub. Everything that can be said without one is good, but for published figures that don't follow from each other."""
    found = check(ROOT / "examples" / example)
    assert [(p.kind, p.where.file) for p in found if p.severity == "error"] == [("lock-stale", locks.FILE_NAME)]
    assert unreconciled(found) == UNRECONCILED.get(example, {})


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_does_not_reconcile_is_told_with_both_values_when_the_card_is_rendered(example: str) -> None:
    """By the same figures: the card marks them, and names under the table what the data gives."""
    made, told = card(example), UNRECONCILED.get(example, {})
    assert unreconciled(list(made.warnings)) == told
    assert made.text.count("†") == len(readme_locales(hubrelease.load_spec(ROOT / "examples" / example))) * (len(told) + bool(told))
    for published, computed in told.values():
        assert f"{computed} (published: {published})" in made.text
        assert f"{computed} (게시: {published})" in made.text


def unreconciled(found: list[Problem]) -> dict[str | None, tuple[str, str]]:
    said = {
        p.where.pointer: re.match(r"was published as (\S+), and the data gives (\S+):", p.message) for p in found if p.severity == "warning"
    }
    assert all(p.kind == "published-differs" and p.where.line for p in found if p.severity == "warning")
    return {pointer: (match[1], match[2]) for pointer, match in said.items() if match}


@pytest.mark.parametrize("example", EXAMPLES)
def test_check_accepts_it_once_it_is_pinned(example: str, tmp_path: Path) -> None:
    folder = tmp_path / example
    shutil.copytree(ROOT / "examples" / example, folder)
    spec = hubrelease.load_spec(folder)
    files = (FileDigest("LICENSE", "0" * 64, 1),)
    pinned = (LockedSource(s.name, s.kind, request_of(s), "0" * 40, files, license=s.license) for s in spec.sources)
    (folder / locks.FILE_NAME).write_bytes(locks.dumps(Lock(tuple(pinned))))
    assert unreconciled(check(folder)) == UNRECONCILED.get(example, {})


@pytest.mark.parametrize("example", EXAMPLES)
def test_two_renders_give_the_same_bytes(example: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / example, tmp_path / "elsewhere")
    assert card_of(tmp_path / "elsewhere").text.encode() == card(example).text.encode()


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_hubs_own_reader_takes_the_metadata(example: str) -> None:
    data = ModelCard(card(example).text).data
    assert data.license == LICENSES.get(example, "apache-2.0")
    assert data.base_model
    assert data.pipeline_tag == "image-text-to-text"
    assert data.base_model_relation == ("finetune" if example.startswith("chart") else "quantized")


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_says_whose_figures_these_are_and_that_names_are_stand_ins(example: str) -> None:
    spec = hubrelease.load_spec(ROOT / "examples" / example)
    assert spec.name.startswith("example-org/")
    assert "This is an example of hubrelease. The figures are those that" in card(example).text
    for receipt in spec.receipts:
        assert "published" in json.loads((spec.folder / receipt.path).read_bytes())["note"], receipt.path
    assert all("not resolved here" in s.note.lower() or "stand-in" in s.note for s in spec.sources if s.note)


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_check_doubts_a_figure_of_the_finished_card(example: str, tmp_path: Path) -> None:
    """Card, receipts and spec in a release of other weights: the checks on receipts and claims find nothing to hold against them."""
    folder = ROOT / "examples" / example
    spec = hubrelease.load_spec(folder)
    receipts = {r.to: (folder / r.path).read_bytes() for r in spec.receipts}
    found = judged(tmp_path / "r", card=card(example).text.encode(), receipts=receipts, spec=spec.document)
    told = [(p.kind, p.severity) for p in found if p.code.startswith(("HR61", "HR62"))]
    assert told == [("published-differs", "warning")] * len(UNRECONCILED.get(example, {}))


def test_scores_of_the_metadata_are_those_of_the_table() -> None:
    results = {r.dataset_name: r.metric_value for r in ModelCard(card("qwen-nvfp4a16").text).data.eval_results}
    ours = {row[0].split(" (")[0]: float(row[4].split()[0]) for row in rows(card("qwen-nvfp4a16").text) if len(row) == 7 and row[0][0].isascii()
            and row[0] not in ("Benchmark", "Average")}  # fmt: skip
    assert len(results) == 6
    assert {name.split(" (")[0]: value for name, value in results.items()} == ours


def test_both_languages_show_the_same_figures() -> None:
    english, korean = card("qwen-nvfp4a16").text.split("\n# ")[1:]
    found = [[row[1:] for row in rows(part) if all(FIGURE.fullmatch(cell) for cell in row[1:])] for part in (english, korean)]
    assert len(found[0]) == 7
    assert found[0] == found[1]


# -------------------------------------------------------------------------------------------------- against what was published


@pytest.mark.parametrize(("example", "path", "count", "_cells"), texts())
def test_every_number_that_was_published_stands_in_the_card(example: str, path: Path, count: int, _cells: int) -> None:
    """No exceptions: versions, ports and sizes of the quick start are among them."""
    published, there = numbers(path.read_text("utf-8")), numbers(card(example).text)
    assert sorted(published - there - {bare(number) for number in there}) == []
    assert len(published) == count


@pytest.mark.parametrize(("example", "path", "_numbers", "count"), texts())
def test_every_table_row_that_was_published_stands_in_the_card(example: str, path: Path, _numbers: int, count: int) -> None:
    ours, compared = list(rows(card(example).text)), 0
    for row in rows(path.read_text("utf-8")):
        cells = [part for cell in row[1:] if FIGURE.fullmatch(cell) for part in SPLIT.get(cell, [cell])]
        whole = any(holds(there[1:], cells) for there in ours)
        apart = all(any(there[0] == row[0] and cell in there[1:] for there in ours) for cell in cells)  # one table made two
        assert whole or apart, row
        compared += len(cells)
    assert compared == count


@pytest.mark.skipif(not list(SEEDS.glob("002_*")), reason="no ../shared/seeds here: the six-benchmark table is not computed again")
def test_what_the_published_scores_do_not_give_is_said_in_the_card() -> None:
    """Recoveries and averages, computed again from the published table; the note under the card's table names each that differs."""
    table = [row for row in rows(next(SEEDS.glob("002_*")).read_text("utf-8")) if len(row) == 7]
    header, *body = table
    scores = {(row[0], name): Fraction(cell.split()[0]) for row in body for name, cell in zip(header[1:], row[1:], strict=True)}
    tasks, off = [row[0] for row in body if row[0] != "Average"], {}
    exact = scores | {("Average", name): sum(scores[task, name] for task in tasks) / len(tasks) for name in header[1:]}
    for row in body:
        for name, cell in zip(header[1:], row[1:], strict=True):
            if (mean := f"{float(exact[row[0], name]):.2f}") != cell.split()[0]:
                off[row[0], name] = mean
            kept = f"{float(round(100 * exact[row[0], name] / exact[row[0], header[1]], 1)):.1f}%"
            if "(" in cell and kept != cell.split("(")[1].rstrip(")"):
                off[row[0], name] = kept
    assert off == NOT_REPRODUCED
    named = {
        (row, column): computed for row, column, computed in re.findall(r"([^.;,]+(?:\([^)]*\))?), ([^,;]+): (\S+) \(published: ", note())
    }
    assert named == NOT_REPRODUCED


def note() -> str:
    """What stands under the English table of what was published as another value."""
    return card("qwen-nvfp4a16").text.split("† As published; the data gives another value. ")[1].split("\n")[0].replace("; ", ";")


def test_what_can_be_computed_twice_agrees() -> None:
    """Rows by input length add up; means by input length give the mean; differing answers explain the accuracies; 191 GiB are 205 GB."""
    imajev, moe = card("imajev-fp8-sm120").text, card("moe-nvfp4-w4a4").text
    assert "The rows add up to 23,900, and the means, weighted by them, to 0.353 s and 0.555 s" in imajev
    assert "19,160 rows, counted from FP8, and 19,160, counted from BF16" in imajev
    assert "(89.25%, 88.5%, 89.0%)" in moe
    assert "191 GiB (stated), or 205 GB (stated)" in moe
