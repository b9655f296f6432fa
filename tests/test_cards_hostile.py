"""The embedded spec of a release is anybody's: whatever its card section holds, the check on its tables ends and raises nothing."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest
import tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_cards_released import BENCHMARKS, CARD
from test_cards_tables import lm_eval

from hubrelease import verify_release
from hubrelease.release import Release
from hubrelease.spec_tables import expected_cells

README = (
    b"---\nlicense: mit\n---\n# t\n\n## Scores\n\n| benchmark | base | this release | recovery |\n|---|---|---|---|\n"
    b"| GSM8K | 73.92% | 74.07% | 100.2% |\n| mmlu | 36.96% | 37.04% | 100.2% |\n"
)
ODD = [
    None,
    True,
    0,
    -1,
    10**9,
    1e308,
    "",
    "x",
    "/results",
    [],
    {},
    [[]],
    {"a": {}},
    {"figure": "x"},
    {"compute": "sum", "of": ["x"] * 3},
    "benchmarks/own.json",
]
FILES = {
    "README.md": README,
    "benchmarks/own.json": json.dumps(lm_eval(0.7407)).encode(),
    "benchmarks/base.json": json.dumps(lm_eval(0.7392)).encode(),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tiny.release(tmp_path_factory.mktemp("hostile") / "r", FILES)
    return found


def cells(root: Path, card: Any) -> int:
    result = verify_release.check_folder(root)
    assert result.provenance.document
    spec = verify_release.spec_of(result.provenance.document)
    spec["card"], spec["benchmarks"] = card, BENCHMARKS
    return len(list(expected_cells(Release(root, result))))


def places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in a value."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in below for place in [(value, key), *places(inner)]]


def test_the_card_as_it_was_asked_for_is_held_whole(root: Path) -> None:
    assert cells(root, CARD) == 6


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(ODD)), min_size=1, max_size=4))
def test_any_other_is_held_or_left_alone(root: Path, changes: list[tuple[int, Any]]) -> None:
    card = copy.deepcopy(CARD)
    for number, value in changes:
        found = places(card)
        container, key = found[number % len(found)]
        container[key] = copy.deepcopy(value)
    cells(root, card)


@pytest.mark.parametrize(
    "figures",
    [{"x": {"figure": "x"}}, {f"f{n}": {"compute": "product", "of": [f"f{n - 1}"] * 200} for n in range(1, 9)} | {"f0": {"receipt": "benchmarks/own.json", "task": "mmlu"}},
     {"f8": {"receipt": "benchmarks/own.json", "task": "mmlu", "decimals": 10**9}}],
    ids=["circle", "a product of products", "decimals"],
)  # fmt: skip
def test_what_would_take_for_ever_is_left_alone(root: Path, figures: Any) -> None:
    table = {
        "title": "Scores",
        "columns": ["benchmark", "base", "this release", "recovery"],
        "rows": [["a", {"figure": "f8"}, {"figure": "x"}, "c"]] * 2,
    }
    began = time.process_time()
    assert cells(root, {"tables": [table], "figures": figures}) == 0
    assert time.process_time() - began < 2
