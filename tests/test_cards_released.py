"""Rendered again by anybody: a finished release without release.yaml gives the very card that it has; what it lacks is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
from command_line import Cli
from golden import same_as_golden
from huggingface_hub import ModelCard
from specs import LOCAL, MINIMAL, faults, folder, load, local, problems
from test_cards_figures import lm_eval

import hubrelease
from hubrelease import canonical
from hubrelease.cards import files
from hubrelease.checks import checks
from hubrelease.errors import Problem
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.release import Release
from hubrelease.verify_release import check_folder

OWN, BASE = "benchmarks/own.json", "benchmarks/base.json"
STRICT = {"task": "gsm8k", "metric": "exact_match", "filter": "strict", "label": "GSM8K"}
COMPARE = {"columns": [{"name": "base", "receipt": BASE, "baseline": True}, {"name": "this release", "receipt": OWN}], "rows": [STRICT, "mmlu"],
           "as": "percent", "decimals": 2}  # fmt: skip
CARD: dict[str, Any] = {
    "locales": ["en", "ko"], "pipeline_tag": "text-generation", "model_index": {"datasets": {"gsm8k": {"type": "openai/gsm8k", "name": "GSM8K"}}},
    "eval_results": [{"dataset": "openai/gsm8k", "task_id": "gsm8k", "figure": {"receipt": OWN, "task": "gsm8k", "metric": "exact_match", "filter": "strict", "as": "percent", "decimals": 2}}],
    "figures": {"tensors": {"payload": "weights", "pointer": "/tensors"}, "files": {"lock": "base_model", "pointer": "/files"}},
    "summary": "{=tensors} tensors from {=files} files.",
    "tables": [{"title": "Scores", "compare": COMPARE}, {"title": "Size", "columns": ["a", "b"], "rows": [["bytes", {"payload": "weights", "pointer": "/bytes", "as": "bytes"}]]}],
}  # fmt: skip
BENCHMARKS = [{"receipt": "own.json"}, {"receipt": "base.json", "of": "org/base"}]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("released") / "project"
    receipts = {"own__json": json.dumps(lm_eval(0.7407, MINIMAL["name"])), "base__json": json.dumps(lm_eval(0.7392, "org/base"))}
    folder(root, "", **receipts)
    local(root, benchmarks=BENCHMARKS, card=CARD)
    hubrelease.build(hubrelease.load_spec(root), root.parent / "out")
    return root.parent / "out"


@pytest.fixture
def release(built: Path, tmp_path: Path) -> Path:
    for name, data in tiny.files_of(built).items():
        (tmp_path / "r" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "r" / name).write_bytes(data)
    return tmp_path / "r"


def judged(root: Path, *codes: str) -> list[Problem]:
    found = Release(root, check_folder(root))
    return [problem for check in checks() if check.code in codes for problem in check.run(found)]


def test_a_release_renders_to_the_card_that_it_has(release: Path, cli: Cli) -> None:
    assert (release / "docs/README.ko.md").exists()
    said = cli("card", "render", release, "--check")
    assert (said.code, said.err) == (0, "")
    assert cli("card", "render", release).out == (release / "README.md").read_text()
    assert cli("card", "render", release, "--locale", "ko").out == (release / "docs/README.ko.md").read_text()


@pytest.mark.parametrize("name", ["README.md", "docs/README.ko.md", ".eval_results/openai--gsm8k.yaml"])
def test_an_edit_of_any_file_of_the_card_is_reported(release: Path, cli: Cli, name: str) -> None:
    (release / name).write_text((release / name).read_text().replace("74.07", "75.07"))
    said = cli("card", "render", release, "--check")
    assert (said.code, "75.07" in said.out) == (1, True)


def test_a_figure_that_was_edited_is_found_by_verify_computed_ones_too(release: Path) -> None:
    assert judged(release, "HR614") == []
    text = (release / "README.md").read_text()
    (release / "README.md").write_text(text.replace("100.2%", "101.2%").replace("| 5.22 kB |", "| 6.22 kB |"))
    found = [p.message for p in judged(release, "HR614")]
    size = [line for line in text.split("\n") if line.startswith("| bytes |")]
    assert any('"101.2%"' in message and "recovery" in message for message in found), found
    assert len(size) == 1


def test_a_figure_in_the_second_language_of_one_card_is_held_too(tmp_path: Path) -> None:
    receipts = {"own__json": json.dumps(lm_eval(0.7407, MINIMAL["name"])), "base__json": json.dumps(lm_eval(0.7392, "org/base"))}
    card = {"locales": ["en", "ko"], "locales_in": "one", "tables": [{"title": "Scores", "compare": COMPARE}]}
    root = local(folder(tmp_path / "p", "", **receipts), benchmarks=BENCHMARKS, card=card)
    hubrelease.build(hubrelease.load_spec(root), tmp_path / "out")
    assert judged(tmp_path / "out", "HR614") == []
    english, korean = (tmp_path / "out/README.md").read_text().split("## 결과")
    (tmp_path / "out/README.md").write_text(english + "## 결과" + korean.replace("100.2%", "101.2%"))
    assert any('"101.2%"' in p.message for p in judged(tmp_path / "out", "HR614"))


def test_a_changed_receipt_changes_the_card(release: Path, cli: Cli) -> None:
    (release / OWN).write_text((release / OWN).read_text().replace("0.7407", "0.9407"))
    assert "+| GSM8K | 73.92% | 94.07%" in cli("card", "render", release, "--check").out


def edit(release: Path, change: Any) -> None:
    tiny.edit(release, lambda s: change(s["predicate"]["buildDefinition"]["externalParameters"]["spec"]))


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [(lambda s: s["card"].update(template="own.j2"), 1, "no part of the release"), (lambda s: s["card"].update(magic=1), 2, "is not known"),
     (lambda s: s.pop("weights"), 2, "is missing"), (lambda s: s["benchmarks"].append({"receipt": "gone.json"}), 1, "could not be read"),
     (lambda s: s["card"]["figures"].update(files={"lock": "base_model", "pointer": "/bytes"}), 1, "MODEL_PROVENANCE.json#base_model has nothing at /bytes"),
     (lambda s: s["card"].update(tables="x"), 2, "must be a list"), (lambda s: s["card"]["figures"].update(tensors={"figure": "tensors"}), 1, "too many deep")],
)  # fmt: skip
def test_what_a_release_lacks_or_says_wrongly_is_told(release: Path, cli: Cli, change: Any, code: int, words: str) -> None:
    edit(release, change)
    said = cli("card", "render", release, "--json")
    assert (said.code, words in said.problems[0]["message"]) == (code, True), said.problems


def test_a_lock_that_does_not_fit_is_never_used_silently(tmp_path: Path, cli: Cli) -> None:
    root = local(tmp_path / "p")
    assert cli("card", "render", root).code == 0
    spec = {**LOCAL, "sources": {**LOCAL["sources"], "another": {"folder": "base"}}}
    folder(root, spec)
    said = cli("card", "render", root, "--json")
    assert (said.code, said.kinds) == (1, ["lock-stale"])


# ------------------------------------------------------------------------------------------------------------ metadata


def test_model_index_has_the_numbers_that_the_table_shows_and_calls_them_self_reported(built: Path) -> None:
    results = ModelCard.load(built / "README.md").data.eval_results
    assert results is not None
    assert [(r.dataset_type, r.metric_type, r.metric_value, r.verified, r.task_type) for r in results] == [
        ("openai/gsm8k", "exact_match", 74.07, False, "text-generation"), ("mmlu", "acc", 37.04, False, "text-generation")]  # fmt: skip
    assert all("self-reported" in str(r.metric_name) for r in results)
    assert judged(built, "HR510", "HR520", "HR521", "HR614") == []


def test_eval_results_are_in_the_hubs_form_and_say_whose_they_are(built: Path) -> None:
    text = (built / ".eval_results/openai--gsm8k.yaml").read_text()
    assert "value: 74.07" in text
    assert "name: self-reported" in text
    assert "id: openai/gsm8k" in text
    assert judged(built, "HR521") == []


def test_the_golden_card_in_two_languages(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    card = {
        **CARD,
        "locales_in": "one",
        "figures": {"free": {"spec": True, "pointer": "/card/stated/free", "unit": "GiB"}},
        "stated": {"free": 32},
    }
    card |= {
        "summary": {"en": "Allow at least {=free}.", "ko": "최소 {=free} 필요."},
        "tables": [{"title": {"en": "Scores", "ko": "점수"}, "compare": {**COMPARE, "average": True}}],
    }
    spec = {**MINIMAL, "weights": {"format": "nvfp4a16"}, "benchmarks": BENCHMARKS, "card": card}
    facts = Facts(load(tmp_path, spec), Lock(), {OWN: lm_eval(0.7407), BASE: lm_eval(0.7392)}, None)
    same_as_golden(request, "card-two-languages.md", files(facts)["README.md"])


def spec_facts(root: Path, **card: Any) -> Facts:
    spec = {**MINIMAL, "benchmarks": BENCHMARKS, "card": {"pipeline_tag": "text-generation", **card}}
    return Facts(load(root, spec), Lock(), {OWN: lm_eval(0.7407), BASE: lm_eval(0.7392)}, None)


@pytest.mark.parametrize(
    ("card", "words"),
    [({"model_index": True}, "no table shows a score"), ({"model_index": True, "tables": [{"title": "t", "measured_by": "upstream", "compare": COMPARE}]}, "no table shows"),
     ({"model_index": True, "pipeline_tag": ""}, "names a task for each result"),
     ({"tables": [{"title": "t", "compare": COMPARE}], "eval_results": [{"dataset": "a/b", "task_id": "c", "figure": {"receipt": OWN, "task": "mmlu"}}]}, "and the table shows 37.04%"),
     ({"eval_results": [{"dataset": "a/b", "task_id": "c", "figure": {"spec": True, "pointer": "/version"}}]}, "no number of a receipt")],
)  # fmt: skip
def test_metadata_without_a_table_or_unlike_it_is_refused(tmp_path: Path, card: dict[str, Any], words: str) -> None:
    found = faults(lambda: files(spec_facts(tmp_path, **card)))
    assert words in found[0].message


@pytest.mark.parametrize(("decimals", "value"), [(2, 37.04), (1, 37.0)])
def test_a_score_that_two_tables_round_otherwise_is_published_as_either_shows_it(tmp_path: Path, decimals: int, value: float) -> None:
    def figure(places: int) -> dict[str, Any]:
        return {"receipt": OWN, "task": "mmlu", "as": "percent", "decimals": places}

    both = [{"title": "t", "columns": ["a", "b"], "rows": [["x", figure(places)]]} for places in (2, 1)]
    results = [{"dataset": "a/b", "task_id": "c", "figure": figure(decimals)}]
    made = files(spec_facts(tmp_path, tables=both, eval_results=results))[".eval_results/a--b.yaml"]
    assert f"value: {value}\n" in made
    found = faults(lambda: files(spec_facts(tmp_path, tables=both, eval_results=[{**results[0], "figure": figure(3)}])))
    assert "37.035 would be published, and the table shows 37.04%" in found[0].message


def test_base_models_scores_are_not_this_releases(tmp_path: Path) -> None:
    made = files(spec_facts(tmp_path, model_index=True, tables=[{"title": "t", "compare": COMPARE}]))["README.md"]
    data = ModelCard(made).data
    assert [r.metric_value for r in data.eval_results or []] == [74.07, 37.04]


def test_names_of_a_receipt_in_the_metadata_show_what_can_not_be_seen(tmp_path: Path) -> None:
    hostile = "\u202eevil\u200b\n---\nlicense: mit"
    value = lm_eval(0.7407)
    value["results"] = {task: {**row, "alias": hostile} for task, row in value["results"].items()}
    spec = {**MINIMAL, "benchmarks": BENCHMARKS[:1], "card": {"pipeline_tag": "text-generation", "model_index": True}}
    spec["card"] |= {"tables": [{"title": "t", "columns": ["a", "b"], "rows": [["mmlu", {"receipt": OWN, "task": "mmlu", "decimals": 3}]]}]}
    text = files(Facts(load(tmp_path, spec), Lock(), {OWN: value}, None))["README.md"]
    found = (ModelCard(text).data.eval_results or [])[0]
    assert (found.dataset_name, found.metric_value) == ("\\u{202e}evil\\u{200b} --- license: mit", 0.37)


@pytest.mark.parametrize(
    "card", [{"model_index": 1}, {"model_index": {"x": 1}}, {"eval_results": True}, {"eval_results": [{"dataset": "a/b"}]}], ids=repr
)
def test_metadata_of_another_form_is_refused_with_the_spec(tmp_path: Path, card: dict[str, Any]) -> None:
    assert problems(tmp_path, {**MINIMAL, "card": card})


# ---------------------------------------------------------------------------------------------------------- conversion


def test_what_stayed_unquantised_is_counted_by_reason() -> None:
    from hubrelease.payload import MAX_REASONS, kept_by_reason

    rows = [{"name": f"m{n}.weight", "shape": [2, n], "relation": "identical"} for n in range(40)]
    kept = {"m3": "is the head", "m4": "is excluded", "m5": "is excluded", "gone": "is excluded"} | {
        f"m{n}": f"its sibling {n}" for n in range(10, 40)
    }
    found = kept_by_reason(kept, rows)
    assert len(found) == MAX_REASONS + 1
    assert sum(row["modules"] for row in found) == len(kept)
    assert found[0] == {"reason": "its sibling 39", "modules": 1, "parameters": 78}
    assert next(row for row in kept_by_reason(dict(list(kept.items())[:4]), rows) if row["reason"] == "is excluded") == {
        "reason": "is excluded",
        "modules": 3,
        "parameters": 18,
    }


def test_the_card_of_a_conversion_says_what_stayed_unquantised(tmp_path: Path) -> None:
    from hubrelease.cards import render
    from hubrelease.payload import Payload

    conversion = {"parameters": 100, "quantizedShare": 0.56, "unquantizedShare": 0.44, "bitsPerParameter": 9.876, "tensors": {"identical": 3, "quantized": 2, "scale": 4},
                  "kept": [{"reason": "is <excluded>", "modules": 3, "parameters": 1800}]}  # fmt: skip
    weights = {"files": 1, "tensors": 9, "parameters": 100, "bytes": 5000, "dtypes": {}}
    spec = load(tmp_path, {**MINIMAL, "weights": {"format": "nvfp4a16"}})
    card = render(
        Facts(spec, Lock(), {}, Payload("b" * 64, {"files": {"count": 1, "bytes": 1}, "weights": weights, "conversion": conversion}))
    )
    assert "Quantised: 56.0% of the base's parameters. Left as they were: 44.0%. Bits per parameter, scales included: 9.88." in card
    assert "| is &lt;excluded&gt; | 3 | 1,800 |" in card
    assert "| quantised | 2 |" in card
    assert canonical.dumps(conversion)
