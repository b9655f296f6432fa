"""Text of release.yaml is text: whatever stands in a field, the card keeps its form, the Dockerfile its lines, the terminal its colours."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import in_process
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt
from specs import DIGEST, MINIMAL, faults, folder
from verifying import harmless

import hubrelease
from hubrelease.cards import render
from hubrelease.errors import ReleaseError, SpecError
from hubrelease.facts import Facts
from hubrelease.lock import Lock, LockedSource
from hubrelease.markdown import code, escape_markdown, left_open
from hubrelease.payload import Payload
from hubrelease.spec import Spec
from hubrelease.steps.runtime import dockerfile

HOSTILE = [
    "{{ 7 * 7 }}{% raw %}", "{% endblock %}{{ self }}", "<script>alert(7)</script>", "<!-- ", "<details><summary>x", "```", "~~~~", "`", "a|b|c",
    "a\nb\n\n# Fake\n\n---\n", "---", "[x](javascript:7) ![y](http://z)", "\x1b[31mred", "\x00", "::error::x", "x\u202egnp", '" \\\nRUN id #',
    "$(id) ${HOME} %s", "key: [value", "it's \"quoted\"", "a\tb\r\nc", "&lt;b&gt; &amp; <b>", "@BASE_IMAGE@", "\ud83d\ude00", "no", "1e5", "0x10", "~",
]  # fmt: skip
SPEC: dict[str, Any] = {
    **MINIMAL,
    "license_name": "own", "license_link": "LICENSE", "license_reason": "because it is so",
    "sources": {"base_model": {"folder": "base", "note": "a note", "license": "mit"}, "img": {"image": f"python@{DIGEST}", "note": "a note"}},
    "weights": {"format": "as-is", "recipe": "by hand", "remote_code": "it has code of its own",
                "auxiliary": [{"path": "scales.safetensors", "purpose": "activation scales"}]},
    "side_files": {"omit": [{"path": "*.bin", "reason": "the same as the weights"}]},
    "runtime": {"kind": "verify", "image": "img", "cuda": "12.9", "cuda_archs": ["12.0"]},
    "benchmarks": [{"receipt": "r.json", "as": "benchmarks/r.json", "of": "org/base", "note": "a note"}],
    "card": {"title": "A title", "summary": "A summary.", "language": "en", "tags": ["a"], "datasets": ["a/b"], "metrics": ["m"],
             "pipeline_tag": "text-generation", "library_name": "transformers", "base_model": "org/base", "thumbnail": "u",
             "tables": [{"title": "Results", "note": "a note", "columns": ["task", "score"],
                         "rows": [["gsm8k", {"receipt": "benchmarks/r.json", "pointer": "/a", "unit": "points"}]]}],
             "text": {"usage": "Use it.", "limits": "Few."}},
    "waive": [{"code": "HR223", "file": "x", "reason": "left on purpose"}],
}  # fmt: skip
MARKDOWN = ("/card/summary", "/card/text/", "/note")  # the publisher's own Markdown


def text_fields(value: Any, at: str = "") -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from text_fields(inner, f"{at}/{key}")
    if isinstance(value, str):
        yield at


def with_text(text: str, *pointers: str) -> dict[str, Any]:
    """SPEC with `text` at each pointer."""
    spec = copy.deepcopy(SPEC)
    for pointer in pointers:
        *path, last = [int(step) if step.isdigit() else step for step in pointer.split("/")[1:]]
        at: Any = spec
        for step in path:
            at = at[step]
        at[last] = text
    return spec


def card_of(spec: Spec, receipt: Any = None) -> str:
    lock = Lock(tuple(LockedSource(s.name, s.kind, {s.kind: s.locator}, "a" * 64, license=s.license) for s in spec.sources))
    weights = {"files": 1, "bytes": 8, "tensors": 1, "parameters": 4, "dtypes": {"BF16": {"tensors": 1, "parameters": 4, "bytes": 8}}}
    payload = Payload("b" * 64, {"files": {"count": 1, "bytes": 8}, "weights": weights})
    receipts = {r.to: {"a": 0.5} if receipt is None else receipt for r in spec.receipts}
    return render(Facts(spec, lock, receipts, payload))


def tokens(card: str) -> list[tuple[str, str]]:
    body = card.split("---\n", 2)[2]
    parsed = MarkdownIt("commonmark").enable("table").parse(body)
    return [(t.type, t.tag) for block in parsed for t in (block, *(block.children or ()))]


def form(card: str) -> list[tuple[str, str]]:
    """The headings and tables of a card: what no text of a field may add to, or swallow."""
    return [t for t in tokens(card) if t[0] in ("heading_open", "table_open", "th_open", "tr_open")]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, str]], int]:
    """A folder to write specs into, the usual form of the card, and the lines of the Dockerfile."""
    root = folder(tmp_path_factory.mktemp("hostile"), SPEC, r__json='{"a": 0.5}')
    spec = hubrelease.load_spec(root)
    assert spec.runtime
    return root, form(card_of(spec)), len(dockerfile(spec, spec.runtime).splitlines())


def taken(root: Path, text: str) -> list[str]:
    """The fields that take the text; the others are refused with their place."""
    pointers = [p for p in sorted(text_fields(SPEC)) if not p.endswith(("/receipt", "/as", "/pointer"))]  # those name each other
    while pointers:
        folder(root, json.dumps(with_text(text, *pointers)))
        found = faults(lambda: hubrelease.load_spec(root))
        assert all(p.where.line and len(p.message) < 400 for p in found)
        refused = {p.where.pointer for p in found}
        if not refused:
            break
        if refused == {None}:  # the file itself: no field takes a control character
            return []
        assert refused & set(pointers), found
        pointers = [p for p in pointers if p not in refused]
    return pointers


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_a_text_is_refused_with_its_place_or_changes_nothing_but_its_own_words(usual: tuple[Path, Any, int], text: str) -> None:
    root, usual_form, lines = usual
    plain = [p for p in taken(root, text) if not any(part in p for part in MARKDOWN)]
    folder(root, json.dumps(with_text(text, *plain)))
    spec = hubrelease.load_spec(root)
    card = card_of(spec)
    assert spec.runtime
    assert len(dockerfile(spec, spec.runtime).splitlines()) == lines
    assert form(card) == usual_form
    assert not [t for t in tokens(card) if t[0] in ("html_block", "html_inline", "image", "link_open")]
    assert "49" not in card
    assert all(c.isprintable() or c == "\n" for c in card)
    assert ModelCard(card).data.license == spec.license


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_markdown_of_ones_own_stays_in_its_place(usual: tuple[Path, Any, int], text: str) -> None:
    """It may have headings of its own; the card's own headings and tables are all still there."""
    root, usual_form, _ = usual
    free = [p for p in taken(root, text) if any(part in p for part in MARKDOWN)]
    folder(root, json.dumps(with_text(text, *free)))
    spec = hubrelease.load_spec(root)
    if found := faults(lambda: card_of(spec)):
        assert {p.where.pointer for p in found} <= set(free)
        return
    card = card_of(spec)
    assert "49" not in card
    assert not Counter(usual_form) - Counter(form(card))
    assert {"## Results", "## Validation", "## Verify it", "## Provenance", "## Licence"} <= set(card.split("\n"))


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_a_terminal_can_show_what_is_said_of_it(usual: tuple[Path, Any, int], text: str) -> None:
    root, *_ = usual
    folder(root, json.dumps({**with_text(text, "/license_name"), text: 1, "name": text}))
    said = in_process("check", root)
    assert said.code == 2
    assert harmless(said.out)
    assert harmless(said.err)
    assert in_process("check", root, "--json").problems


def test_a_front_matter_value_is_read_back_as_it_was_written(usual: tuple[Path, Any, int]) -> None:
    """By PyYAML (YAML 1.1) and by what YAML 1.2 takes for numbers."""
    root, *_ = usual
    tags = [
        "no",
        "on",
        "1e5",
        "1.10",
        "0x10",
        "0o17",
        "1_000",
        "~",
        "null",
        "2024-01-01",
        "a: b",
        "- a",
        "#x",
        "'",
        "é",
        "=",
        "1:30",
        "true",
        "x" * 300,
    ]
    folder(root, json.dumps(SPEC | {"card": {"tags": tags, "language": "no", "text": {"usage": "u", "limits": "l"}}}))
    card = card_of(hubrelease.load_spec(root))
    read = ModelCard(card).data
    assert (read.tags, read.language) == (tags, "no")
    assert all(f"'{tag}'" in card for tag in ("no", "on", "1e5", "1.10", "0x10", "0o17", "~", "null", "true"))


# --------------------------------------------------------------------------------------------------- text from receipts


WORDS = [text for text in HOSTILE if text != "1e5"]  # a number given as text is refused: tests/benchmarks/test_other_receipts.py


@pytest.mark.parametrize("text", [*WORDS, "\ud800", "\x85", "\u2028# Fake", "</td>", "x" * 5000], ids=lambda text: repr(text)[:30])
def test_a_receipts_text_in_a_cell_is_one_cell(usual: tuple[Path, Any, int], text: str) -> None:
    root, usual_form, _ = usual
    folder(root, json.dumps(SPEC))
    card = card_of(hubrelease.load_spec(root), {"a": text})
    assert form(card) == usual_form
    assert "49" not in card
    assert all(c.isprintable() or c == "\n" for c in card)
    card.encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_escaped_text_is_shown_as_it_is_and_makes_nothing(text: str) -> None:
    shown = MarkdownIt("commonmark").enable("table").render("x " + escape_markdown(text))
    assert {part.split(">")[0] for part in shown.split("<")[1:]} <= {"p", "/p"}
    spans = MarkdownIt("commonmark").parseInline(code(text))[0].children or []
    assert [t.type for t in spans] == ["code_inline"]


# -------------------------------------------------------------------------------------------------- what a text leaves open

LEFT_OPEN = {
    "```\ncode": "a code block (```)", "~~~python\nx\n```": "a code block (~~~)", "````\n```": "a code block (````)", "a <!-- b": "a comment (<!--)",
    "<details><summary>x</summary>": "the element <details>", "<div align=center>\n\nx": "the element <div>", "<?php": "a comment (<?)",
    "<script>": "the element <script>", "</div><div>": "the element <div>", "<![CDATA[x": "a comment (<![CDATA[)", "List<int> x": "the element <int>",
}  # fmt: skip
CLOSED = [
    "", "plain", "```\ncode\n```", "```py\n<!-- <div>\n```\n", "`<!--` and `<div>`", "``a ` <b> b``", "<details>x</details>", "<br> <img src=x> <hr/>",
    "a < b and c > d", "<https://example.org> <a@b.c>", "<p>one<p>two", "<li>x", "<!-- x --> y", "1. x\n   ```\n   y\n   ```", "<B>x</b>",
]  # fmt: skip


@pytest.mark.parametrize("text", LEFT_OPEN, ids=repr)
def test_a_text_that_leaves_something_open_is_found(text: str) -> None:
    assert left_open(text) == LEFT_OPEN[text]


@pytest.mark.parametrize("text", CLOSED, ids=repr)
def test_a_text_that_closes_what_it_opens_is_good(text: str) -> None:
    assert left_open(text) is None


@pytest.mark.parametrize(
    "pointer", ["/card/summary", "/card/text/usage", "/card/tables/0/note", "/sources/base_model/note", "/benchmarks/0/note"]
)
def test_a_text_may_not_swallow_the_rest_of_the_card(usual: tuple[Path, Any, int], pointer: str) -> None:
    root, *_ = usual
    folder(root, json.dumps(with_text("x\n\n```\nsee", pointer)))
    spec = hubrelease.load_spec(root)
    with pytest.raises(ReleaseError) as caught:
        card_of(spec)
    (problem,) = caught.value.problems
    assert not isinstance(caught.value, SpecError)
    assert problem.where.pointer == pointer
    assert "swallow" in problem.message
