"""Texts of a card: in several languages with the same figures, without typed figures, and by hand between marks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Cli
from specs import MINIMAL, faults, folder, load, only, problems

from hubrelease import free_text
from hubrelease.cards import files, render, rendered
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.markdown import escape_paragraph
from hubrelease.typed_figures import literals, template_problems

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "templates"
RECEIPT = {"score": 0.5, "name": "<b>x</b>"}
FIGURES = {"score": {"receipt": "benchmarks/r.json", "pointer": "/score", "as": "percent"}, "name": {"receipt": "benchmarks/r.json", "pointer": "/name"},
           "free": {"spec": True, "pointer": "/card/stated/free", "unit": "GiB"}}  # fmt: skip


def facts(root: Path, kept: str = "", receipt: Any = None, **card: Any) -> Facts:
    spec = {**MINIMAL, "benchmarks": [{"receipt": "r.json"}], "card": {"figures": FIGURES, "stated": {"free": 32}, **card}}
    found = {"benchmarks/r.json": RECEIPT if receipt is None else receipt}
    return Facts(load(root, spec), Lock(), found, None, kept=free_text.read(kept.encode(), "README.md"))


# ----------------------------------------------------------------------------------------------------------- languages

TWO = {"locales": ["en", "ko"], "title": {"en": "Small", "ko": "작은 모델"}, "summary": {"en": "It has {=score}.", "ko": "{=score} 달성."},
       "tables": [{"title": {"en": "Scores", "ko": "점수"}, "columns": [{"en": "task", "ko": "과제"}, "x"],
                   "rows": [[{"words": {"en": "one", "ko": "하나"}}, {"figure": "score"}], ["free", {"figure": "free"}]]}]}  # fmt: skip


def test_a_card_in_two_languages_has_the_same_figures_in_both(tmp_path: Path) -> None:
    made = facts(tmp_path, **TWO)
    english, korean = rendered(made), rendered(made, locale="ko")
    assert [(p.text, p.figure) for p in english.figures] == [(p.text, p.figure) for p in korean.figures]
    assert "It has 50%." in english.text
    assert "50% 달성." in korean.text
    assert "| 하나 | 50% |\n| free | 32 GiB (게시자 명시) |" in korean.text
    assert not re.search("[가-힣]", english.text)


def test_translations_are_files_outside_of_the_payload(tmp_path: Path) -> None:
    from hubrelease.verify_release import in_payload

    made = files(facts(tmp_path, **TWO))
    assert list(made) == ["README.md", "docs/README.ko.md"]
    assert made["docs/README.ko.md"].startswith("# 작은 모델\n")
    assert not any(in_payload(path) for path in made)


def test_both_languages_can_stand_in_one_card(tmp_path: Path) -> None:
    made = files(facts(tmp_path, **TWO, locales_in="one"))
    assert list(made) == ["README.md"]
    assert made["README.md"].count("---\nlicense") == 1
    assert made["README.md"].index("## Scores" if "## Scores" in made["README.md"] else "### Scores") < made["README.md"].index("### 점수")


def test_the_cards_own_language_chooses_its_phrases(tmp_path: Path) -> None:
    assert "## 라이선스" in render(facts(tmp_path, language="ko"))
    assert "## Licence" in render(facts(tmp_path, language="de"))


@pytest.mark.parametrize(
    ("card", "pointer"),
    [({"title": {"en": "x"}}, "/card/title"), ({"text": {"usage": {"ko": "x"}}}, "/card/text/usage"), ({"tables": [{"title": "t", "columns": [{"ko": "x"}], "rows": [["a"]]}]}, "/card/tables/0/columns/0")],
)  # fmt: skip
def test_a_language_without_its_text_is_a_problem(tmp_path: Path, card: dict[str, Any], pointer: str) -> None:
    found = [
        p
        for locale in ("en", "ko")
        for p in faults(lambda locale=locale: rendered(facts(tmp_path, locales=["en", "ko"], **card), locale=locale))
    ]
    assert only(found).where.pointer == pointer


@pytest.mark.parametrize(
    "card",
    [
        {"locales": ["de"]},
        {"locales": ["en", "en"]},
        {"locales_in": "one"},
        {"locales": []},
        {"locales": ["English"]},
        {"title": {"english": "x"}},
    ],
    ids=repr,
)
def test_languages_that_can_not_be_are_refused_with_the_spec(tmp_path: Path, card: dict[str, Any]) -> None:
    assert problems(tmp_path, {**MINIMAL, "card": card})


def catalogues() -> dict[str, dict[str, str]]:
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted((TEMPLATES / "locales").glob("*.yaml"))}


def test_every_catalogue_has_the_same_phrases_with_the_same_places() -> None:
    english = catalogues()["en"]
    for phrases in catalogues().values():
        assert phrases.keys() == english.keys()
        for key, phrase in phrases.items():
            assert set(re.findall(r"\{(\w+)\}", phrase)) == set(re.findall(r"\{(\w+)\}", english[key])), key


def test_the_templates_have_no_words_of_their_own() -> None:
    """Everything that a reader of another language would not understand comes from the catalogue."""
    for path in TEMPLATES.glob("*.j2"):
        text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.S)
        assert not re.findall(r"[A-Za-z]{3,}", re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", "", text, flags=re.S)), path.name


MADE = ("relation_", "format_", "versus_", "footnote", "condition_", "plot_", "alt_", "decisions_")  # asked for by name in Python


def test_every_phrase_that_a_template_asks_for_is_there_and_the_others_are_gone() -> None:
    source = "".join(path.read_text("utf-8") for path in TEMPLATES.glob("*.j2"))
    asked = set(re.findall(r'say\("(\w+)"[),]', source)) | {"weights_line", "weights_line_one"}
    made = {key for key in catalogues()["en"] if key.startswith(MADE) and key != "format_line"}
    assert asked | made | {"stated", "benchmark", "average", "published_beside"} == catalogues()["en"].keys()


def test_a_phrase_that_is_not_there_is_told_with_the_templates_line(tmp_path: Path) -> None:
    made = facts(tmp_path, template="own.j2")
    (tmp_path / "own.j2").write_text('\n{{ say("no_such") }}')
    found = only(faults(lambda: render(made)))
    assert (found.where.file, found.where.line, "no_such" in found.message) == ("own.j2", 2, True)
    (tmp_path / "own.j2").write_text('{{ say("receipt_of") }}')
    assert '"model"' in only(faults(lambda: render(made))).message


# ------------------------------------------------------------------------------------------------------- typed figures

TYPED = [
    "36.4%",
    "46.3 ms",
    "191 GiB",
    "24.86 tok/s",
    "2×",
    "2x faster",
    "1.551 s",
    "12 GB/s",
    "395 W",
    "10 tokens/s",
    "5 seconds",
    "-0.25 pp",
    "60 FPS",
    "3 times",
]
HARMLESS = ["W4A16 and FP8", "Qwen3.5-4B", "5-shot", "128x128 blocks", "128 × 128 blocks", "a 4B model", "version 1.2.0", "CUDA 13.0", "1990s", "`46 ms`", "[x](https://a/5%20b)",
            "https://example.org/5%20x", "E4M3", "{=score} of rows", "RTX-96GB", "7,820-token prompts", "<!-- 5 ms -->", "at temperature 0"]  # fmt: skip


@pytest.mark.parametrize("text", TYPED)
def test_a_number_beside_a_unit_is_a_typed_figure(tmp_path: Path, text: str) -> None:
    assert [line for line, _ in literals(f"a\n\nIt is {text} or so.")] == [3]
    spec = f"schema: 1\nname: owner/tiny\nversion: 1.0.0\nlicense: mit\nweights: {{format: as-is}}\ncard:\n  summary: |\n    Good.\n\n    It is {text} or so.\n"
    found = only(faults(lambda: render(Facts(load(tmp_path, spec), Lock(), {}, None))))
    assert (found.kind, found.where.file, found.where.line) == ("figure-fault", "release.yaml", 10)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_numbers_are_none(text: str) -> None:
    assert list(literals(f"It is {text}, yes.")) == []


def test_code_is_left_alone() -> None:
    assert list(literals("```sh\nsleep 5 s  # 50%\n```\n\n~~~\n5 ms\n~~~\n")) == []


@pytest.mark.parametrize(
    "template", ["a\n\n{{ title }} is 36.4% lower", "a\n\n{% if title %}46 ms{% endif %}", "a\n\n{{ '5 GiB' }}", "{# 5 ms #}\n\n2× as fast"]
)
def test_a_typed_figure_in_a_template_is_told_with_its_line(tmp_path: Path, template: str) -> None:
    made = facts(tmp_path, template="own.j2")
    (tmp_path / "own.j2").write_text(template)
    found = only(faults(lambda: render(made)))
    assert (found.kind, found.where.file, found.where.line) == ("figure-fault", "own.j2", 3)


def test_our_own_templates_and_phrases_have_none() -> None:
    assert [p for path in TEMPLATES.glob("*.j2") for p in template_problems(path.name, path.read_text("utf-8"))] == []
    assert [key for phrases in catalogues().values() for key, text in phrases.items() if list(literals(text))] == []


def test_figures_in_texts_are_placed_and_foreign_text_is_escaped(tmp_path: Path) -> None:
    card = render(facts(tmp_path, summary="*{=score}* of {=name}", text={"limits": "`{=score}`"}))
    assert "*50%* of &lt;b&gt;x&lt;/b&gt;" in card
    assert "`50%`" in card
    assert 'card.figures has no "scores"' in only(faults(lambda: render(facts(tmp_path, summary="{=scores}")))).message


@pytest.mark.parametrize(
    "name", ["{{ 7*7 }}", "{% for %}", "| x | 5% |", "\x1b[31m", "<script>", "a\n# b", "\x02x:000001\x02", "\u202e", "{=score}"], ids=repr
)
def test_what_a_receipt_says_can_not_act_in_the_card(tmp_path: Path, name: str) -> None:
    table = {"title": "t", "columns": ["a", "b"], "rows": [["x", {"figure": "name"}]]}
    made = rendered(facts(tmp_path, receipt={"score": 0.5, "name": name}, summary="Of {=name}.", tables=[table]))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]|<script|49", made.text)
    assert "\n# b" not in made.text
    row = next(line for line in made.text.split("\n") if line.startswith("| x |"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert len(made.figures) == 2


@pytest.mark.parametrize("name", ["---", "===", "- a", "+ a", "-", "12. a", "3) a", "1."])
def test_what_a_receipt_says_begins_no_block(tmp_path: Path, name: str) -> None:
    """On a line of its own it would be a list, a rule, or make a heading of the line above."""
    summary = "Words of ours\n{=name}\n"
    spec = {**MINIMAL, "benchmarks": [{"receipt": "r.json"}]}
    spec["card"] = {"summary": summary, "figures": {"name": {"receipt": "benchmarks/r.json", "pointer": "/name", "as": "text"}}}
    text = render(Facts(load(tmp_path, spec), Lock(), {"benchmarks/r.json": {"name": name}}, None))
    line = text.split("Words of ours\n")[1].split("\n")[0]
    assert line.replace("\\", "") == name
    assert re.match(r"\\|\d+\\", line)
    assert escape_paragraph("1.0.2 and -3, a - b") == "1.0.2 and -3, a - b"


# ------------------------------------------------------------------------------------------------------------- by hand

HAND = "<!-- hubrelease:text limits -->\nMine,\n\n\n\nkept.\n<!-- /hubrelease:text -->"


def test_what_was_written_between_marks_survives(tmp_path: Path) -> None:
    first = render(facts(tmp_path, free_text=["limits"]))
    assert "<!-- hubrelease:text limits -->\n<!-- /hubrelease:text -->" in first
    edited = first.replace("limits -->\n", "limits -->\nMine,\n\n\n\nkept.\n")
    assert HAND in edited
    assert render(facts(tmp_path, edited, free_text=["limits"])) == edited
    assert render(facts(tmp_path, edited)) == edited


def test_release_yaml_wins_over_what_was_written_by_hand_and_says_so(tmp_path: Path) -> None:
    made = rendered(facts(tmp_path, HAND, text={"limits": "Ours."}))
    assert "Mine" not in made.text
    assert [(w.severity, "release.yaml gives this text, and wins" in w.message) for w in made.warnings] == [("warning", True)]


@pytest.mark.parametrize(
    ("card", "line"),
    [("a\n<!-- hubrelease:text x -->\nb", 2), (f"{HAND}\n{HAND}", 8), ("<!-- /hubrelease:text -->", 1), ("a <!-- hubrelease:text x --> b", 1), ("<!-- hubrelease:text A b -->", 1),
     ("<!-- hubrelease:text x -->\n<!-- hubrelease:text y -->\n<!-- /hubrelease:text -->", 2)],
)  # fmt: skip
def test_marks_out_of_place_are_told_with_their_line(card: str, line: int) -> None:
    found = faults(lambda: free_text.read(card.encode(), "README.md"))
    assert ("text-mark", "README.md", line) in [(p.kind, p.where.file, p.where.line) for p in found]


@pytest.mark.parametrize(("text", "kind"), [("It is 36.4% faster.", "figure-fault"), ("```\nopen", "text-mark"), ("<div>", "text-mark")])
def test_what_is_written_by_hand_is_held_to_the_same_rules(tmp_path: Path, text: str, kind: str) -> None:
    card = f"x\n<!-- hubrelease:text limits -->\n{text}\n<!-- /hubrelease:text -->\n"
    found = only(faults(lambda: render(facts(tmp_path, card))))
    assert (found.kind, found.where.file, found.where.line) == (kind, "README.md", 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [(b"a\xe2\x80\xaeb", "U+202E"), (b"a\x1b[31mb", "U+001B"), (b"a\0b", "U+0000"), (b"a\x02b", "U+0002"), ("a\u2028b".encode(), "U+2028"), (b"caf\xe9", "no UTF-8")],
)  # fmt: skip
def test_what_is_written_by_hand_is_plain_text_and_nothing_is_replaced_in_it(text: bytes, words: str) -> None:
    card = b"x\n<!-- hubrelease:text limits -->\nfine\n" + text + b"\n<!-- /hubrelease:text -->\n"
    found = only(faults(lambda: free_text.read(card, "README.md")))
    assert (found.kind, found.where.file, found.where.line, words in found.message) == ("text-mark", "README.md", 4, True)


def test_bytes_outside_of_the_blocks_are_the_renderings_affair(tmp_path: Path) -> None:
    assert free_text.read(b"caf\xe9 \x1b\n" + HAND.encode(), "README.md").texts == {"limits": "Mine,\n\n\n\nkept.\n"}


def test_a_mark_in_the_metadata_is_data() -> None:
    card = f"---\nname: 'a <!-- hubrelease:text limits --> b'\n---\n{HAND}\n---\n"
    assert list(free_text.read(card.encode(), "README.md").texts) == ["limits"]
    never_ends = f"---\n{HAND}\n"
    assert list(free_text.read(never_ends.encode(), "README.md").texts) == ["limits"]


def test_a_block_without_a_place_is_told(tmp_path: Path) -> None:
    found = only(faults(lambda: render(facts(tmp_path, HAND.replace("limits", "nowhere")))))
    assert (found.where.file, '"nowhere"' in found.message) == ("README.md", True)


def test_the_command_keeps_hand_edits_and_reports_others(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path, {**MINIMAL, "card": {"free_text": ["usage"]}})
    readme = root / "README.md"
    cli("card", "render", root, "-o", readme)
    readme.write_text(readme.read_text().replace("usage -->\n", "usage -->\nRun it.\n"))
    assert cli("card", "render", root, "--check").code == 0
    readme.write_text(readme.read_text().replace("# tiny", "# Tiny"))
    said = cli("card", "render", root, "--check")
    assert (said.code, "-# Tiny\n+# tiny" in said.out) == (1, True)
    cli("card", "render", root, "-o", readme)
    assert "usage -->\nRun it.\n" in readme.read_text()
    assert "# tiny" in readme.read_text()


def test_card_render_of_one_language(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path, {**MINIMAL, "card": {"locales": ["en", "ko"]}})
    assert "## 라이선스" in cli("card", "render", root, "--locale", "ko").out
    assert cli("card", "render", root, "--locale", "en").out == cli("card", "render", root).out
    said = cli("card", "render", root, "--locale", "de", "--json")
    assert (said.code, said.problems[0]["mend"]) == (2, "choose among en, ko, or add it to card.locales")
