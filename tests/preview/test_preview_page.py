"""What the page shows: the card from its data, each figure with its source, findings with their lines; anew after each change."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from previewing import SPEC, TEMPLATE, ask, card, example, png, running, shown, small

from hubrelease.facts import Figure
from hubrelease.pieces import Placed
from hubrelease.preview import marks, markup, pages, sanitise, shape
from hubrelease.preview.converter import Converter

FIGURE = Figure(0.5, "50%", "receipt", "benchmarks/r.json", "/a")
NOTHING = shape.Place(lambda path: False, lambda path: False, "file/")


def place(text: str, what: str, nth: int = 1) -> Placed:
    """`what` where it stands in `text` for the nth time."""
    at = -1
    for _ in range(nth):
        at = text.index(what, at + 1)
    return placed(what, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def placed(text: str, line: int, column: int) -> Placed:
    return Placed(FIGURE, text, line, column, column + len(text))


def html_of(text: str, *figures: Placed) -> str:
    raw = markup.to_html(marks.marked(text, figures, 1), 1)
    return shape.shape(sanitise.clean(raw), NOTHING)[0]


def figures_in(html: str) -> list[tuple[int, str]]:
    return [(int(number), text) for number, text in re.findall(r'<span class="figure"[^>]*data-figure="(\d+)">([^<]*)</span>', html)]


# ------------------------------------------------------------------------------------------------------------ figures


def test_every_figure_of_a_card_says_where_it_comes_from(tmp_path: Path) -> None:
    folder = example(tmp_path / "release")
    view = shown(folder)
    receipt = json.loads((folder / "receipts" / "mteb-STS22.json").read_bytes())
    english = next(f for f in view["figures"] if f["text"] == "67.71%")
    assert english["source"] == "receipt"
    assert english["file"] == english["open"] == "benchmarks/mteb-STS22.json"
    assert english["pointer"] == "/scores/test/5/cosine_spearman"
    assert english["value"] == str(receipt["scores"]["test"][5]["cosine_spearman"])
    assert english["shown"] == "67.71%"
    placed = figures_in(view["html"])
    assert [(n, view["figures"][n]["text"]) for n, _ in placed] == placed
    assert {view["figures"][n]["pointer"] for n, _ in placed} >= {
        f"/scores/test/{i}/cosine_spearman" for i in (0, 1, 5, 6, 9, 11, 12, 14, 15, 16)
    }
    for figure in view["figures"]:
        assert view["lines"][figure["line"] - 1][figure["column"] - 1 :].startswith(figure["text"])


def test_a_computed_figure_names_its_formula_and_what_it_was_computed_from(tmp_path: Path) -> None:
    folder = small(tmp_path / "release")
    parts = [{"receipt": "benchmarks/r.json", "pointer": pointer} for pointer in ("/a", "/b")]
    rows = [["gsm8k", {"compute": "quotient", "of": parts, "decimals": 2}]]
    table = {"title": "Scores", "columns": ["task", "a / b"], "rows": rows}
    (folder / "r.json").write_text('{"a": 1, "b": 3}')
    (folder / "release.yaml").write_text(json.dumps({**SPEC, "card": {**SPEC["card"], "tables": [table]}}))
    (figure,) = shown(folder)["figures"]
    assert (figure["text"], figure["value"], figure["source"]) == ("0.33", repr(1 / 3), "derived")
    assert "a / b" in figure["formula"]
    assert [(o["file"], o["pointer"], o["value"], o["open"]) for o in figure["operands"]] == [
        ("benchmarks/r.json", "/a", "1", "benchmarks/r.json"),
        ("benchmarks/r.json", "/b", "3", "benchmarks/r.json"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(Fraction(1, 3), repr(1 / 3)), (Fraction(10**400), "too large for a number of 64 bits"), ("x" * 999, "x" * 400), (None, "None")],
)
def test_any_value_is_told(value: object, text: str) -> None:
    assert pages.value_text(value) == text


@pytest.mark.parametrize(
    ("text", "what"),
    [("It is 50% here.", "50%"), ("**50%**", "50%"), ("| a |\n|---|\n| 50% |", "50%"), ("- 50%", "50%"), ("# 50% of it", "50%"), ("`50%`", "50%"), ("```\nx 50%\n```", "50%"),
     ("<b>50%</b>", "50%"), ("[50%](https://example.org)", "50%"), ("(50%)", "50%"), ("~50%~", "50%"), ("50%", "50%"), ("> 50%", "50%")],
)  # fmt: skip
def test_a_figure_is_marked_wherever_it_stands(text: str, what: str) -> None:
    assert figures_in(html_of(text, place(text, what))) == [(0, what)]


@pytest.mark.parametrize("text", ["50. x", "![50](a.png)", "[x](https://example.org/50)", '<img width="50">', "<!-- 50 -->"])
def test_where_a_mark_would_change_the_card_there_is_none(text: str) -> None:
    html = html_of(text, place(text, "50"))
    assert figures_in(html) == []
    assert html == html_of(text)


def test_equal_figures_keep_their_own_sources() -> None:
    text = "| a | b |\n|---|---|\n| 50% | 50% |\n| 50% | x |"
    html = html_of(text, *(place(text, "50%", nth) for nth in (1, 2, 3)))
    assert figures_in(html) == [(0, "50%"), (1, "50%"), (2, "50%")]


def test_a_figure_that_does_not_stand_where_it_should_is_not_marked() -> None:
    assert figures_in(html_of("a 51%", placed("50%", 1, 3))) == []
    assert figures_in(html_of("a 50%", placed("50%", 9, 3))) == []


def test_a_card_can_not_pass_text_off_as_a_figure() -> None:
    text = f"{chr(marks.FIRST)}99%{marks.END} and 50%"
    html = html_of(text, place(text, "50%"))
    assert figures_in(html) == [(0, "50%")]
    assert "\ufffd99%\ufffd" in html
    assert "data-figure" not in html_of('<span class="figure" data-figure="0">99%</span>')


@pytest.fixture(scope="module")
def hasty() -> Iterator[Converter]:
    """One that gives every text little time."""
    made = Converter(1.5)
    yield made
    made.close()


# ----------------------------------------------------------------------------------------------------------- metadata


def test_front_matter_is_tags_and_rows(tmp_path: Path) -> None:
    folder = card(tmp_path / "c", "# x")
    index = "model-index:\n- name: m\n  results:\n  - task: {type: text-generation}\n    dataset: {name: GSM8K, type: gsm8k}\n    metrics:\n    - {type: exact_match, value: 42.5}\n"
    (folder / "README.md").write_text(f"---\nlicense: mit\ntags: [a, <b>]\nco2: {{emissions: 3}}\n{index}---\n# x\n")
    data = shown(folder)["metadata"]
    assert [(t["kind"], t["text"], t["line"]) for t in data["tags"]] == [("license", "mit", 2), ("tags", "a", 3), ("tags", "<b>", 3)]
    assert [(r["key"], r["text"], r["line"]) for r in data["rows"]] == [
        ("co2.emissions", "3", 4),
        ("text-generation · GSM8K · exact_match", "42.5", 11),
    ]


@pytest.mark.parametrize(
    "front",
    [
        "",
        "---\n---\n",
        "---\n[1]\n---\n",
        "---\na: &x [*x]\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\nnever closed\n",
        "\ufeff---\nlicense: mit\n---\n",
    ],
)
def test_odd_front_matter_is_shown_with_its_findings(tmp_path: Path, front: str) -> None:
    folder = card(tmp_path / "c", "")
    (folder / "README.md").write_text(front + "# body\n", "utf-8")
    view = shown(folder)
    assert "body" in view["html"]


# ----------------------------------------------------------------------------------------------------------- findings


def test_a_good_release_has_no_errors(tmp_path: Path) -> None:
    view = shown(example(tmp_path / "release"))
    assert (view["view"], view["views"]) == ("rendered", ["rendered"])
    assert [f for f in view["findings"] if f["severity"] == "error"] == []


def test_findings_of_the_spec_open_release_yaml_at_their_line(tmp_path: Path) -> None:
    folder = example(tmp_path / "release")
    text = (folder / "release.yaml").read_text().replace("/scores/test/9/cosine_spearman", "/scores/nowhere")
    (folder / "release.yaml").write_text(text)
    view = shown(folder)
    (found,) = [f for f in view["findings"] if f["kind"] == "figure-fault"]
    assert found["open"] == "release.yaml"
    assert "/scores/nowhere" in text.split("\n")[found["line"] - 1]
    assert view["html"] == ""


def test_a_readme_that_differs_is_shown_beside_the_rendered_card(tmp_path: Path) -> None:
    folder = small(tmp_path / "release")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n\n# Typed by hand\n")
    view = shown(folder)
    assert view["views"] == ["rendered", "README.md"]
    assert "card-differs" in [f["kind"] for f in view["findings"]]
    assert any("Typed by hand" in line for line in view["diff"])
    assert "Typed by hand" in shown(folder, "README.md")["html"]


def test_a_spec_that_breaks_leaves_the_readme_on_the_page(tmp_path: Path) -> None:
    folder = example(tmp_path / "release")
    (folder / "release.yaml").write_text("name: [")
    (folder / "README.md").write_text("# There\n")
    view = shown(folder)
    assert view["views"] == ["README.md"]
    assert "yaml-invalid" in [f["kind"] for f in view["findings"]]


def test_findings_on_a_card_have_its_lines(tmp_path: Path) -> None:
    folder = card(tmp_path / "c", "# x\n")
    (folder / "README.md").write_text("---\nlicense: no-such-licence\npipeline_tag: no-such-task\n---\n# x\n")
    found = {f["kind"]: f for f in shown(folder)["findings"]}
    lines = [f["line"] for f in found.values() if f["file"] == "README.md"]
    assert 2 in lines
    assert 3 in lines


def test_blocks_carry_the_line_that_they_begin_on(tmp_path: Path) -> None:
    view = shown(card(tmp_path / "c", "# one\n\ntext\n\n| a |\n|---|\n| 1 |\n"))
    for tag, words in (("h1", "# one"), ("p", "text"), ("table", "| a |")):
        line = int(re.search(rf'<{tag}[^>]* data-line="(\d+)"', view["html"])[1])  # type: ignore[index]
        assert view["lines"][line - 1] == words


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00x",
        b"\x00" * 100,
        b"# " + b"[" * 20000,
        b"> " * 3000 + b"x",
        b"- " * 2000 + b"x",
        b"|" * 50000,
        b"*a_ " * 20000,
        b"<" * 50000,
        b"![" * 20000,
        b"\r\n# x\r\n",
        "# \u202e\ud55c\n".encode(),
    ],
)
def test_any_bytes_are_shown(tmp_path: Path, hasty: Converter, data: bytes) -> None:
    folder = card(tmp_path / "c", "")
    (folder / "README.md").write_bytes(data)
    assert shown(folder, converter=hasty)["html"] or not data.strip()


@pytest.mark.parametrize(
    "text",
    ["![" * 60000 + "<b>x", "<div>" * 50000 + "<b>x", "".join(f"<i id=x{n}>" for n in range(20000)) + "<b>x"],
    ids=["pictures left open", "divisions in divisions", "thousands of names"],
)
def test_a_text_that_takes_too_long_is_shown_as_it_stands(tmp_path: Path, hasty: Converter, text: str) -> None:
    began = time.monotonic()
    html = shown(card(tmp_path / "c", text), converter=hasty)["html"]
    assert time.monotonic() - began < 10
    assert "so it stands here as it is" in html
    assert "&lt;b&gt;x" in html
    assert "<strong>y</strong>" in shown(card(tmp_path / "c", "**y**"), converter=hasty)["html"]  # the next text is shown again


# ------------------------------------------------------------------------------------------------------------- reload


def events(page_url: str) -> socket.socket:
    parts = urlsplit(page_url)
    line = socket.create_connection((parts.hostname, parts.port), timeout=10)
    line.sendall(f"GET {parts.path}events HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    return line


def until(line: socket.socket, words: bytes) -> bytes:
    data = b""
    while words not in data:
        got = line.recv(4096)
        assert got, data
        data += got
    return data


def test_every_change_is_told_and_shown(tmp_path: Path) -> None:
    folder = small(tmp_path / "release")
    text = (folder / "release.yaml").read_text()
    with running(folder) as page, events(page.url) as line:
        until(line, b"data: 1\n\n")
        assert page.look() is None
        changes = (
            ("release.yaml", text.replace("A title", "Another title"), "Another title"),
            ("r.json", '{"score": 0.5012}', "50.12%"),
            ("own.j2", TEMPLATE + "From my template\n", "From my template"),
        )
        for number, (name, content, expected) in enumerate(changes, 2):
            (folder / name).write_text(content)
            assert page.look() is not None, name
            until(line, b"data: %d\n\n" % number)
            view = ask(page, "state").json
            assert (view["version"], expected in view["html"]) == (number, True), (name, view["findings"])
        (folder / "README.md").write_text("# by hand\n")
        assert page.look() is not None
        assert "by hand" in ask(page, "state?view=README.md").json["html"]
        (folder / "README.md").unlink()
        assert page.look() is not None
        assert ask(page, "state?view=README.md").json["view"] == "rendered"


def test_a_picture_that_comes_later_is_shown(tmp_path: Path) -> None:
    folder = card(tmp_path / "c", "![a](assets/a.png)")
    with running(folder) as page:
        assert "no such picture" in ask(page, "state").json["html"]
        (folder / "assets").mkdir()
        (folder / "assets" / "a.png").write_bytes(png())
        page.look()
        assert 'src="file/assets/a.png"' in ask(page, "state").json["html"]


def test_events_end_with_the_command(tmp_path: Path) -> None:
    with running(card(tmp_path / "c", "x")) as page:
        line = events(page.url)
        until(line, b"data: 1\n\n")
    line.settimeout(5)
    assert line.recv(100) == b""
    line.close()
