"""HR510 card-front-matter: metadata that can't be read, or that reads differently in different readers."""

import pytest
from cards import judged, kinds

CARD = ("card-front-matter", "error", "README.md")


@pytest.mark.parametrize(
    ("block", "line", "word"),
    [
        ("license: mit\nlicense: apache-2.0", 3, "twice"),
        ("license: mit\ntags: [a\nlanguage: en", None, "YAML"),
        ("- license: mit", 2, "list"),
        ("just text", 2, "string"),
        ("license: mit\n\ttags: x", None, "YAML"),
        ("license: @mit", None, "YAML"),
        ("license: mit: x", None, "YAML"),
        ("base: *nothing", 2, "alias"),
        ("base: !!python/object:os.system x", 2, "tag"),
        ("{{ card_data }}", 2, "key"),
        ("deep: " + "[" * 70 + "]" * 70, 2, "deeper"),
    ],
)
def test_bad_blocks(tmp_path, block, line, word):
    found = judged(tmp_path, card=f"---\n{block}\n---\n\n# Title\n".encode())
    assert {p.kind for p in found} - {"license-conflict"} == {"card-front-matter"}
    fault = next(p for p in found if p.kind == "card-front-matter")
    assert fault.severity == "error"
    assert word in fault.message
    assert line is None or fault.where.line == line


def test_bad_never_closed(tmp_path):
    (found,) = judged(tmp_path, card=b"---\nlicense: mit\n\n# Title\n\nText.\n")
    assert (found.kind, found.where.line) == ("card-front-matter", 1)


def test_bad_bytes(tmp_path):
    (found,) = judged(tmp_path, card=b"---\nlicense: mit\nauthor: Ren\xe9\n---\n")
    assert (found.kind, found.where.line) == ("card-front-matter", 3)


def test_bad_lines_count_from_the_top_of_the_file(tmp_path):
    found = judged(tmp_path, card=b"\n\r\n---\r\nlicense: apache-2.0\r\n\r\nlicense: apache-2.0\r\n---\r\n# T\r\n")
    assert [(p.kind, p.where.line) for p in found] == [("card-front-matter", 6)]


def test_bad_aliases_that_multiply(tmp_path):
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9))]
    (found,) = judged(tmp_path, card=("---\n" + "\n".join(rows) + "\n---\n").encode())
    assert found.kind == "card-front-matter"


@pytest.mark.parametrize(
    "block",
    [
        "license: apache-2.0",
        "license: &l apache-2.0\ncopy: *l",
        "common: &c {pipeline_tag: text-generation}\nlicense: apache-2.0\n<<: *c",
        "license: !!str apache-2.0",
        "license: apache-2.0\nnote: >-\n  folded\n  text\nother: |\n  kept",
        "license: apache-2.0\nemoji: 🙂\nname: é\u2028x",
        "# a comment\nlicense: apache-2.0  # and another",
        "license: apache-2.0\nco2_eq_emissions: {emissions: 0.1}\nwidget:\n- text: 'x'\ninference: false",
        "license: apache-2.0\nextra_gated_fields:\n  Company: text\n  Country:\n    type: country",
    ],
)
def test_good_blocks(tmp_path, block):
    assert not judged(tmp_path, card=f"---\n{block}\n---\n\n# Title\n".encode())


@pytest.mark.parametrize(
    "card",
    [
        b"---\r\nlicense: apache-2.0\r\n---\r\n# T\r\n",
        b"---\nlicense: apache-2.0\n--- \t\ntext",
        b"\xef\xbb\xbf---\nlicense: apache-2.0\n---",
    ],
)
def test_good_forms(tmp_path, card):
    assert not judged(tmp_path, card=card)


def test_good_partial_or_absent_card(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 5000\n"
    assert not kinds(judged(tmp_path / "a", card=pointer))
    assert not kinds(judged(tmp_path / "b", files={"README.md": None}))
