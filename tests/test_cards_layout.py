"""How the default card is laid out: no empty headings, words to the left and numbers to the right, nothing said twice."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from command_line import Cli
from specs import MINIMAL, folder, load
from test_cards_figures import lm_eval

from hubrelease.cards import rendered
from hubrelease.facts import Facts
from hubrelease.lock import Lock

VALUES = {"ms": 46.3, "name": "fp8", "correct": 19012, "rows": 23900, "free": None}
R = {"receipt": "benchmarks/r.json"}


def card(root: Path, spec: dict[str, Any] | None = None, receipts: dict[str, Any] | None = None, **asked: Any) -> str:
    found = receipts if receipts is not None else {"benchmarks/r.json": VALUES}
    rows = [{"receipt": name.split("/")[1]} for name in found]
    return rendered(Facts(load(root, {**MINIMAL, "benchmarks": rows, **(spec or {}), "card": asked}), Lock(), found, None)).text


def table(*rows: list[Any], section: str = "results") -> dict[str, Any]:
    return {"title": "Some", "section": section, "columns": ["What", *(f"c{n}" for n in range(1, len(rows[0])))], "rows": list(rows)}


def test_no_heading_stands_over_nothing(tmp_path: Path) -> None:
    """A recipe of one line is shown whether or not the weights are here."""
    text = card(
        tmp_path,
        {"weights": {"format": "as-is", "recipe": "unchanged"}},
        tables=[table(["a", "{=x}"], section="hardware")],
        figures={"x": {**R, "pointer": "/ms"}},
    )
    lines = [line for line in text.split("\n") if line]
    for heading, after in pairwise(lines):
        assert not (heading.startswith("## ") and after.startswith("## ")), heading
    assert "Format: `as-is` (unchanged)." in text


def test_numbers_stand_to_the_right_and_words_to_the_left(tmp_path: Path) -> None:
    figures = {key: {**R, "pointer": f"/{key}"} for key in ("ms", "correct", "rows")} | {
        "part": {"compute": "share", "of": ["correct", "rows"], "decimals": 2}
    }
    rows = [["a", "{=ms} ({=part})", "{=correct}/{=rows}", {**R, "pointer": "/name"}, "words", "{=ms}", "{spec}", ["{=ms}", " tokens"]],
            ["b", "", "{=correct}", {**R, "pointer": "/name"}, "", {"spec": True, "pointer": "/card/stated/free", "unit": "GiB"}, "", ""]]  # fmt: skip
    text = card(tmp_path, tables=[table(*rows)], figures=figures, stated={"free": 32})
    assert "|---|---:|---:|---|---|---:|---|---|" in text.split("\n")


def test_hardware_has_a_heading_of_its_own(tmp_path: Path) -> None:
    text = card(tmp_path, tables=[table(["a", "b"], section="hardware")], text={"hardware": "Any GPU."})
    headings = re.findall(r"^#+ .*", text, re.M)
    assert headings[headings.index("## Validation") + 1 :][:2] == ["## Hardware and memory", "### Some"]
    assert "## Hardware and memory" not in card(tmp_path)


def test_a_receipts_line_names_its_model_once(tmp_path: Path) -> None:
    found = {"benchmarks/a.json": lm_eval(0.5), "benchmarks/b.json": lm_eval(0.5, "org/base"), "benchmarks/c.json": lm_eval(0.5, "org/c")}
    rows = [{"receipt": "a.json"}, {"receipt": "b.json", "of": "org/base"}, {"receipt": "c.json", "of": "what was there before"}]
    lines = [line for line in card(tmp_path, {"benchmarks": rows}, found).split("\n") if line.startswith("- `benchmarks/")]
    assert lines == [
        "- `benchmarks/a.json`: Measured by lm-evaluation-harness of org/m, 5 shots.",
        "- `benchmarks/b.json`: Measured by lm-evaluation-harness of org/base, 5 shots.",
        "- `benchmarks/c.json`, of what was there before: Measured by lm-evaluation-harness of org/c, 5 shots.",
    ]


def test_warnings_of_a_card_on_standard_output_go_to_standard_error(tmp_path: Path, cli: Cli) -> None:
    root = folder(
        tmp_path,
        {**MINIMAL, "card": {"text": {"limits": "Ours."}}},
        README__md="<!-- hubrelease:text limits -->\nBy hand.\n<!-- /hubrelease:text -->\n",
    )
    said = cli("card", "render", root)
    assert said.code == 0
    assert said.out.endswith("apache-2.0\n")
    assert 'the marked block "limits" is replaced' in said.err
    assert cli("card", "render", root, "--json").kinds == ["card-differs"]
