"""Real cards and result files (../shared/fixtures): what is reported of each, and that a harness's own table is always right."""

import json
from pathlib import Path

import pytest
import tiny
from cards import RECEIPT, card_text, release_of

from hubrelease import verify_release
from hubrelease.checks import checks
from hubrelease.evaluations import Evaluation, evaluations_of, parse
from hubrelease.release import Release

FIXTURES = Path(__file__).resolve().parent.parent.parent / "shared" / "fixtures"
OURS = [check for check in checks() if check.code.startswith(("HR51", "HR52", "HR61"))]
CARDS = {  # kinds reported; a card that is not named has none
    "hub-modelcard-spec": {"card-front-matter"},  # a template: values are {placeholders}
    "hub-modelcard-template": {"card-front-matter"},  # a template: {{ card_data }}
    "hub-sample-invalid-card-data": {"card-front-matter"},  # a list
    "hub-sample-invalid-model-index": {"card-model-index"},  # a result without its dataset
    "hub-sample-no-metadata": {"card-empty"},
    "transformers-robertinha-widget": {"card-language"},  # "galician", which the Hub refuses since 2026
    "transformers-slavic-bert-language-names": {"card-language"},
}
RESULTS = {
    "lighteval-docs-example-trailing-commas": {"receipt-unreadable"},
    "lm-eval-0.4-asdiv-two-filters": {"results-partial"},  # 512 of 2305
    "lm-eval-0.4.13-group-na-sample-count": {"results-partial"},
    "lm-eval-0.4.8-infinity-nan": {"results-non-finite"},
    "mteb-gte-qwen1.5-AILACasedocs-nan": {"results-non-finite"},
    "sglang-bench-deepseek-offline-infinity": {"results-non-finite"},  # request_rate
}


def real(folder: str, pattern: str) -> list[Path]:
    found = sorted((FIXTURES / folder).glob(pattern))
    return found or [pytest.param(None, marks=pytest.mark.skip(reason=f"no ../shared/fixtures/{folder}/{pattern} here"))]


def found_in(root: Path, files: dict[str, bytes]) -> list:
    release = Release(tiny.write(root, files), verify_release.check_folder(tiny.write(root, files)))
    return [problem for check in OURS for problem in check.run(release)]


@pytest.mark.parametrize("card", real("cards", "*.md"), ids=lambda path: path and path.stem)
def test_a_real_card(tmp_path, card):
    assert {p.kind for p in found_in(tmp_path / "r", {"README.md": card.read_bytes()})} == CARDS.get(card.stem, set())


@pytest.mark.parametrize("result", real("benchmarks", "*.json*"), ids=lambda path: path and path.stem)
def test_a_real_result(tmp_path, result):
    assert {p.kind for p in found_in(tmp_path / "r", {f"benchmarks/{result.name}": result.read_bytes()})} == RESULTS.get(result.stem, set())


def rows_of(evaluation: Evaluation) -> list[list[str]]:
    """The rows of lm_eval's own table (lm_eval/utils.py make_table)."""
    rows, last = [], None
    for metric in sorted(evaluation.metrics, key=lambda m: m.task):
        if metric.value is None:
            continue
        label = (metric.alias or metric.task) if metric.task != last else ""
        error = f"{metric.stderr:.4f}" if metric.stderr is not None else "N/A"
        shots, version = "" if metric.shots is None else str(metric.shots), metric.version or ""
        rows.append([label, version, metric.filter, shots, metric.metric, "↑", f"{metric.value:.4f}", "±", error])
        last = metric.task
    return rows


def table(rows: list[list[str]]) -> str:
    head = ["Tasks", "Version", "Filter", "n-shot", "Metric", "", "Value", "", "Stderr"]
    return "\n".join("|" + "|".join(row) + "|" for row in [head, ["---"] * len(head), *rows])


def own(data: bytes) -> bytes:
    """The receipt as if it were the tiny release's."""
    value = json.loads(data)
    value["config"]["model_args"] = f"pretrained={tiny.NAME}"
    return json.dumps({key: item for key, item in value.items() if key != "model_name"}).encode()


@pytest.mark.parametrize("result", real("benchmarks", "lm-eval-*.json"), ids=lambda path: path and path.stem)
def test_the_harnesss_own_table_is_right_and_an_altered_cell_is_found(tmp_path, result):
    receipt = own(result.read_bytes())
    (evaluation,) = evaluations_of(parse(RECEIPT, receipt))
    rows = rows_of(evaluation)
    good = numbers(tmp_path / "good", rows, receipt)
    assert good == []
    for number in range(0, len(rows), max(1, len(rows) // 5)):
        altered = [list(row) for row in rows]
        altered[number][6] = f"{float(rows[number][6]) + 0.0371:.4f}"
        found = numbers(tmp_path / str(number), altered, receipt)
        assert len(found) == 1, (rows[number], found)


def numbers(root: Path, rows: list[list[str]], receipt: bytes) -> list:
    release = release_of(root, card=card_text(body=table(rows)), receipts={RECEIPT: receipt})
    return [p for check in OURS for p in check.run(release) if p.kind == "card-number"]
