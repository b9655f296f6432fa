"""Two languages: footnotes, alt texts and titles of plots follow the card's language; the figures are the same objects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from specs import MINIMAL, faults, load, only

from hubrelease.benchmarks._serving import LOAD
from hubrelease.benchmarks.sglang import BATCH_LOAD, LENGTHS, SERVER
from hubrelease.benchmarks.vllm import METADATA
from hubrelease.cards import rendered
from hubrelease.evaluations import Evaluation, Metric
from hubrelease.facts import Facts
from hubrelease.footnotes import footnote
from hubrelease.lock import Lock
from hubrelease.phrases import Say, catalogue

SCORES = {"mmlu": [0.5518, 0.6058], "tokens": [[1, 24.86], [16, 173.77]]}
R = {"receipt": "benchmarks/s.json"}
BAR = {"label": "MMLU", "figure": {"compute": "recovery", "decimals": 1, "of": [{**R, "pointer": "/mmlu/1"}, {**R, "pointer": "/mmlu/0"}]}}
POINTS = [
    {"concurrency": {**R, "pointer": f"/tokens/{n}/0"}, "throughput": {**R, "pointer": f"/tokens/{n}/1", "unit": "tok/s"}} for n in (0, 1)
]
RECOVERY = {"kind": "recovery", "file": "assets/recovery.png", "bars": [BAR]}
THROUGHPUT = {"kind": "throughput", "file": "assets/throughput.png", "series": [{"label": "W4A4", "points": POINTS}]}
RUN = Evaluation(
    "r.json", "lm_eval", "org/tiny", (Metric("t", "acc", "none", 0.5, "/a", shots=5),), revision="8faed761d45ab0" * 2, harness_version="0.4.9", engine="vllm",
    engine_version="0.11.0", limit=200, template="gemma", seed="7", hardware="2 × NVIDIA H100", conditions=(("request rate", "unlimited"), ("my own", "x")),
)  # fmt: skip


def facts(root: Path, *plots: dict[str, Any], locales: tuple[str, ...] = ("en", "ko")) -> Facts:
    card = {"locales": list(locales), "plots": list(plots), **({"locales_in": "one"} if len(locales) > 1 else {})}
    return Facts(load(root, {**MINIMAL, "benchmarks": [{"receipt": "s.json"}], "card": card}), Lock(), {"benchmarks/s.json": SCORES}, None)


def pictures(root: Path, *plots: dict[str, Any], locales: tuple[str, ...] = ("en", "ko")) -> list[str]:
    return re.findall(r"!\[(.*?)\]\(", rendered(facts(root, *plots, locales=locales)).text)


def test_a_footnote_is_in_the_cards_language() -> None:
    assert footnote(RUN, Say("en")) == (
        "Measured by lm-evaluation-harness 0.4.9 of org/tiny at 8faed761d45a, engine vllm 0.11.0, 5 shots, at most 200 samples of each task, chat template gemma, seed 7,"
        " request rate unlimited, my own x, 2 × NVIDIA H100."
    )
    assert footnote(RUN, Say("ko")) == (
        "측정: 도구 lm-evaluation-harness 0.4.9, 대상 org/tiny(리비전 8faed761d45a), 엔진 vllm 0.11.0, 5-shot, 과제마다 최대 샘플 200개, 채팅 템플릿 gemma, 시드 7,"
        " 요청 속도 무제한, my own x, 2 × NVIDIA H100."
    )


def test_every_condition_that_an_adapter_names_has_a_phrase() -> None:
    """What a receipt names itself stays as it is."""
    named = {name for names in (LOAD, METADATA, BATCH_LOAD, LENGTHS, SERVER) for name in names.values()}
    for locale in ("en", "ko"):
        assert {"condition_" + re.sub(r"\W+", "_", name.lower()) for name in named} <= catalogue(locale).keys()


def test_alt_text_is_in_the_cards_language(tmp_path: Path) -> None:
    assert pictures(tmp_path, RECOVERY, THROUGHPUT) == [
        "Recovery against the baseline. MMLU 109.8%.",
        "Throughput by concurrency. W4A4: 24.86 tok/s at concurrency 1, 173.77 tok/s at concurrency 16.",
        "기준 대비 회복률. MMLU 109.8%.",
        "동시 요청 수별 처리량. W4A4: 동시 요청 1에서 24.86 tok/s, 동시 요청 16에서 173.77 tok/s.",
    ]


def test_titles_and_labels_of_a_plot_can_be_given_by_language(tmp_path: Path) -> None:
    titled = {**RECOVERY, "title": {"en": "What is kept", "ko": "유지된 성능"}, "bars": [{**BAR, "label": {"en": "Mean", "ko": "평균"}}]}
    assert pictures(tmp_path, titled) == ["What is kept. Mean 109.8%.", "유지된 성능. 평균 109.8%."]


def test_a_language_that_a_title_lacks_is_an_error(tmp_path: Path) -> None:
    assert "has no text for ko" in only(faults(lambda: rendered(facts(tmp_path, {**RECOVERY, "title": {"en": "What is kept"}})))).message


@pytest.mark.parametrize(
    ("title", "drawn"), [({"en": "Kept", "ko": "유지"}, "Kept"), ({"ko": "유지"}, "Recovery against the baseline"), ("Kept", "Kept")]
)
def test_the_picture_itself_is_in_english(tmp_path: Path, title: Any, drawn: str) -> None:
    """Its font has no Hangul; one file serves all languages."""
    from hubrelease.plots import plots_of

    locales = ("ko",) if isinstance(title, dict) and "en" not in title else ("en",)
    (plot,) = plots_of(facts(tmp_path, {**RECOVERY, "title": title}, locales=locales))
    assert plot.title == drawn
    assert plot.series[0].points[0].y.shown == "109.8%"
