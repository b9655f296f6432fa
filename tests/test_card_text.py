"""card_text and front_matter: what of a card is metadata, prose and tables; the split against huggingface_hub's own."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hubrelease import card_text, front_matter
from hubrelease.front_matter import kind_of
from hubrelease.strict_yaml import Mapping, Scalar, Sequence


def test_sections_tables_and_code():
    card = card_text.read(
        b"""---
license: mit
---
# Title
Text with **bold** and `code`.

```python
| not | a table |
|---|---|
| 1 | 2 |
```
<!-- | hidden |
|---|
| 1 | -->
## Results

| Task | acc\\_norm | a\\|b |
|:-----|----------:|------|
| *x*  | **0.5**   |
| [y](https://example.org/a_b) | 1 | 2 | 3 |

After.
Setext
------
- 1 | 2
"""
    )
    assert card.title == "Title"
    (table,) = card.tables
    assert (table.headers, table.line, table.headings) == (("Task", "acc_norm", "a|b"), 17, ("Title", "Results"))
    assert [(row.cells, row.line) for row in table.rows] == [(("x", "0.5", ""), 19), (("y", "1", "2"), 20)]
    assert [(line.number, line.text, line.heading) for line in card.prose] == [
        (5, "Text with bold and code.", "Title"),
        (22, "After.", "Results"),
        (25, "- 1 | 2", "Setext"),
    ]


HTML = b"""---
license: mit
---
## Scores

<table>
  <thead><tr><th>Category</th><th>Metric</th><th>tiny</th><th>Recovery (%)</th></tr></thead>
  <tbody>
    <tr>
      <td rowspan="2"><strong>OpenLLM</strong></td>
      <td>ARC-Challenge<br>(Acc-Norm, 25-shot)</td><td>58.2</td>
      <td>99.1</td>
    </tr>
    <tr><td>MMLU &amp; more</td><td>71.3</td><td>100.2</td></tr>
    <tr><td colspan="4">Coding</td></tr>
  </tbody>
</table>

After.
"""


def test_tables_in_html():
    card = card_text.read(HTML)
    (table,) = card.tables
    assert (table.headers, table.line, table.headings) == (("Category", "Metric", "tiny", "Recovery (%)"), 6, ("Scores",))
    assert [(row.cells, row.line) for row in table.rows] == [
        (("OpenLLM", "ARC-Challenge (Acc-Norm, 25-shot)", "58.2", "99.1"), 9),
        (("OpenLLM", "MMLU & more", "71.3", "100.2"), 14),
        (("Coding", "Coding", "Coding", "Coding"), 15),
    ]
    assert [line.text for line in card.prose] == ["After."]


@pytest.mark.parametrize(
    "text",
    [
        b"<table><tr><td>1<table><tr><td>2</td></tr></table></td></tr></table>", b"<table>", b"<table><tr><td>a</td></tr>", b"<table><tr><td rowspan=99999>a</td></tr><tr><td>b",
        b"<table>" + b"<tr>" * 20_000 + b"</table>", b"<table><tr>" + b"<td colspan=999 rowspan=999>x" * 20_000, b"<table " * 20_000, b"<table><td>x</td></table>", b"<table></table>",
    ],
)  # fmt: skip
def test_odd_html_is_given_up(text):
    import time

    start = time.process_time()
    card_text.read(text)
    assert time.process_time() - start < 3


HUB = re.compile(r"^(\s*---(?:\r\n|\r|\n))([\S\s]*?)((?:\r\n|\r|\n)---[ \t]*(\r\n|\n|$))")  # as huggingface_hub documents the server's rule


@given(
    st.lists(st.sampled_from(["---", "--- ", " ---", "license: mit", "", "# T", "text", "---x", "a: b", "\t"]), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
)
def test_the_split_is_the_hubs(rows, end):
    text = end.join(rows)
    found, hub = front_matter.read(text, "README.md"), HUB.search(text)
    if hub is None:
        assert found.node is None
        return
    assert found.body == re.sub("\r\n|\r", "\n", text[hub.end() :])
    try:
        value = yaml.safe_load(hub[2])
    except yaml.YAMLError:
        return
    assert (found.node is not None) == isinstance(value, dict)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda s: ("---\n" + s + "\n---\n").encode("utf-8", "surrogatepass")))
def test_nothing_raises(data):
    card = card_text.read(data)
    assert isinstance(card.text, str)


letters = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029\ufeff"), max_size=12
)  # line ends of YAML 1.1
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | letters,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(letters, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), values, min_size=1, max_size=4))
def test_values_come_back(value):
    """Whatever PyYAML writes is read with the same kinds."""
    found = front_matter.read(f"---\n{yaml.safe_dump(value, allow_unicode=True)}\n---\n", "README.md")
    assert not found.faults
    assert same(found.node, value), (found.node, value)


def same(node, value) -> bool:
    if isinstance(value, dict):
        return (
            isinstance(node, Mapping)
            and {p.key: 0 for p in node.pairs}.keys() == value.keys()
            and all(same(node.get(k), v) for k, v in value.items())
        )
    if isinstance(value, list):
        return isinstance(node, Sequence) and len(node.items) == len(value) and all(map(same, node.items, value))
    kinds = {type(None): {"null"}, bool: {"boolean"}, int: {"integer"}, float: {"number"}, str: {"string"}}[type(value)]
    return isinstance(node, Scalar) and kind_of(node) in kinds


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no", "string"), ("yes", "string"), ("on", "string"), ("true", "boolean"), ("TRUE", "boolean"), ("~", "null"), ("", "null"), ("1", "integer"), ("0x1f", "integer"),
        ("1_000", "integer"), ("1.5", "number"), (".5", "number"), ("1e3", "number"), ("1.2.3", "string"), (".nan", "non-finite number"), ("-.inf", "non-finite number"),
        ("2024-01-15", "date"), ("2024-1-5", "string"), ("20240115", "integer"), ("apache-2.0", "string"), ("5503434ddd753f426f4b38109466949a1217c2bb", "string"),
    ],
)  # fmt: skip
def test_kinds_of_plain_scalars(text, kind):
    assert kind_of(Scalar(text, True, "f", 1)) == kind
    assert kind_of(Scalar(text, False, "f", 1)) == "string"


def test_many_tables_are_read_in_linear_time():
    import time

    row = "| " + " | ".join("x" * 20 for _ in range(10)) + " |\n"
    data = ("# T\n" + (row + "|---" * 10 + "|\n" + row * 50 + "\n") * 100).encode()
    start = time.process_time()
    card = card_text.read(data)
    assert len(card.tables) == 100
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "text",
    [
        "|" * 200_000,
        "-" * 200_000,
        "*" * 50_000,
        "<" * 50_000,
        "[" * 50_000 + "](",
        "|-" * 50_000,
        "`" * 100_000,
        "a|" * 60_000 + "\n" + "-|" * 60_000,
        "\\" * 50_000,
        "<!--" * 20_000,
        "![](" * 20_000,
        "_" * 50_000,
        "~" * 50_000,
        "1," * 50_000,
        "#" * 50_000,
        "(" * 50_000,
    ],
)
def test_hostile_lines_take_no_time(text):
    import time

    start = time.process_time()
    card_text.read(text.encode())
    assert time.process_time() - start < 3
