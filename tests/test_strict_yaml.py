"""strict_yaml: YAML that means what was written, or a SpecError with file and line. Never anything else, never for long."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubrelease.errors import Problem, SpecError
from hubrelease.strict_yaml import MAX_BYTES, Mapping, Node, Scalar, Sequence, compose, find, list_index, merge, pointer_to, typed

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}


def read(text: str | bytes, schema: dict[str, Any] | None = None) -> Any:
    """The value of a YAML text under a schema (none: what JSON would make of it)."""
    return typed(compose(text.encode() if isinstance(text, str) else text, "a.yaml"), schema or {})


def value_of(written: str, schema: dict[str, Any] | None = None) -> Any:
    """What `a: written` is where the schema of `a` is `schema`."""
    return read(f"a: {written}\n", {"properties": {"a": schema or {}}})["a"]


def refusal(text: str | bytes) -> Problem:
    """The one problem of a text that is refused."""
    with pytest.raises(SpecError) as caught:
        compose(text.encode() if isinstance(text, str) else text, "a.yaml")
    (problem,) = caught.value.problems
    assert (problem.code, problem.where.file) == ("HR101", "a.yaml")
    assert problem.where.line
    assert problem.mend
    assert len(problem.message) < 300
    return problem


# ------------------------------------------------------------------------------------------------- what a scalar means

LOOKS_LIKE_SOMETHING = [
    "0123456789012345678901234567890123456789", "1.10", "1.0", "1", "-0", "1e5", "no", "on", "yes", "off", "y", "true", "null", "~", "0123",
    "0o17", "0x10", "1_000", "+1", ".5", "5.", "1:30", "12:30:45", "2024-01-01", "2024-01-01T10:00:00Z", ".inf", ".nan", "NaN", "<<", "=",
]  # fmt: skip


@pytest.mark.parametrize("written", LOOKS_LIKE_SOMETHING)
def test_where_text_is_wanted_a_scalar_stays_what_was_written(written: str) -> None:
    assert value_of(written, TEXT) == written


@pytest.mark.parametrize(
    ("written", "value"),
    [("1", 1), ("-3", -3), ("1.10", 1.1), ("1.0", 1.0), ("1e-3", 0.001), ("1E5", 1e5), ("12345678901234567890", 12345678901234567890)],
)
def test_where_a_number_is_wanted_a_json_number_is_one(written: str, value: float) -> None:
    assert value_of(written, NUMBER) == value
    assert type(value_of(written, NUMBER)) is type(value)


@pytest.mark.parametrize("written", ["0123", "0x10", "0o17", "1_000", "+1", ".5", "5.", "1:30", ".nan", "NaN", "1e400", "~", "no", "٣"])
def test_where_a_number_is_wanted_nothing_else_becomes_one(written: str) -> None:
    assert value_of(written, NUMBER) == written
    assert value_of(written, INTEGER) == written


@pytest.mark.parametrize("written", ['"5"', "'5'", "|\n  5"])
def test_what_was_quoted_is_text_whatever_is_wanted(written: str) -> None:
    assert value_of(written, INTEGER).strip() == "5"


@pytest.mark.parametrize(("written", "value"), [("true", True), ("false", False), ("null", None), ("", None)])
def test_the_words_of_json_are_its_values_and_text_where_text_is_wanted(written: str, value: object) -> None:
    assert value_of(written) is value
    assert value_of(written, {"type": ["string", "null", "boolean"]}) is value
    assert value_of(written, TEXT) == written


@pytest.mark.parametrize("written", ["True", "TRUE", "Null", "~", "yes", "No", "on", "OFF"])
def test_other_spellings_of_these_words_are_text(written: str) -> None:
    assert value_of(written) == written


def test_text_or_number_takes_the_number_that_loses_nothing() -> None:
    either = {"type": ["string", "integer"]}
    assert [value_of(w, either) for w in ("5000000000", "5GB", "007", "5e9", "true")] == [5000000000, "5GB", "007", "5e9", "true"]


def test_where_nothing_is_said_long_digits_stay_text() -> None:
    assert value_of("0" * 40) == "0" * 40
    assert value_of("1" * 40) == "1" * 40
    assert value_of("1.10") == "1.10"
    assert value_of("1.25") == 1.25


def test_types_are_found_behind_references_and_alternatives() -> None:
    schema = {"$defs": {"v": TEXT}, "additionalProperties": {"anyOf": [{"$ref": "#/$defs/v"}, {"type": "array", "items": NUMBER}]}}
    assert read("a: 1.0\nb: [1.10, 2]\n", schema) == {"a": "1.0", "b": [1.1, 2]}


# ------------------------------------------------------------------------------------------------------ what is refused

REFUSED = {
    "a: 1\nb: 2\na: 3\n": (3, 'the key "a" stands twice, first on line 1'),
    "a: {b: 1, b: 2}\n": (1, "twice"),
    '1: x\n"1": y\n': (2, "twice"),
    "a: &x 1\n": (1, "anchors"),
    "&x a: 1\n": (1, "anchors"),
    "a: 1\nb: *x\n": (2, "anchors"),
    "a: &x [1]\nb: *x\n": (1, "anchors"),
    "a: 1\n*x : 2\n": (2, ""),
    "a: !!str 1\n": (1, "tags"),
    "a: ! 1\n": (1, "tags"),
    "!!str a: 1\n": (1, "tags"),
    "a: !x [1]\n": (1, "tags"),
    "a: !!python/object:os.system {}\n": (1, "tags"),
    "a: 1\n<<: {b: 1}\n": (2, "merge keys"),
    "<<: [{a: 1}]\n": (1, "merge keys"),
    "a: 1\n---\nb: 2\n": (2, "second document"),
    "--- {}\n--- {}\n": (2, "second document"),
    "a: 1\n...\nb: 2\n": (3, ""),
    "? [1]\n: 2\n": (1, "a key must be a plain word"),
    "? {a: 1}\n: 2\n": (1, "a key must be a plain word"),
    "a:\n\tb: 1\n": (2, ""),
    "a: 1\n  b: 2\n": (2, ""),
    "a: [1\nb: 2\n": (2, ""),
    'a: "x\n\n': (3, ""),
    "a: @x\n": (1, ""),
    "%YAML 2.0\n---\na: 1\n": (1, ""),
    "x" * 2000 + ": 1\n": (1, ""),
    "a: 1\nb: \x07\n": (2, "U+0007"),
    "a: 1\n\nb: \x00\n": (3, "U+0000"),
    'a: 1\nb: "\\0"\n': (2, "U+0000"),
    'a: "\\r"\n': (1, "U+000D"),
    'a: "\\e[31m"\n': (1, "U+001B"),
    "a: \x7f\n": (1, "U+007F"),
    "a: 'x\x85y'\n": (1, "U+0085"),
    "a: 'x\u2028y'\n": (1, "U+2028"),
    "a: 1\n\ufeffb: 2\n": (2, "U+FEFF"),
    'a: "\\ud800"\n': (1, ""),
    'a: "\\N"\n': (1, "U+0085"),
    "a: 1\nb: x\u202egnp\n": (2, "U+202E"),
    'a: "\\u2066"\n': (1, "U+2066"),
}


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_what_readers_differ_in_is_refused_with_its_line(text: str) -> None:
    problem = refusal(text)
    line, words = REFUSED[text]
    assert problem.where.line == line
    assert words in problem.message


@pytest.mark.parametrize(
    ("data", "line"),
    [("a: b\n".encode("utf-16"), 1), ("a: b\n".encode("utf-16-be"), 1), ("a: 1\nb: é\n".encode("latin-1"), 2), (b"a: \xc0\xaf\n", 1)],
    ids=["UTF-16", "UTF-16 without mark", "Latin-1", "overlong UTF-8"],
)
def test_other_encodings_are_refused(data: bytes, line: int) -> None:
    assert refusal(data).where.line == line


@pytest.mark.parametrize(
    ("text", "says", "mend"),
    [
        ("a:\n\tb: 1\n", "tab", "indent with blanks"),
        ("a: b: c\n", "is not YAML", 'quote a text that holds ": "'),
        ("a:\n  b: 1\n   c: 2\n", "is not YAML", "indentation"),
        ("a: [1, 2\nb: 3\n", "is not YAML", "close the bracket"),
        ("a: @b\n", "column 4", "quote a text"),
        ("a: 1\nb:2\n", "is not YAML", "a blank before the value"),
        ("a: b\n".encode("utf-16"), "UTF-16", "save it as UTF-8"),
        ("a: é\n".encode("latin-1"), "not UTF-8", "save it as UTF-8"),
    ],
)
def test_a_fault_of_syntax_says_how_to_mend_it(text: str | bytes, says: str, mend: str) -> None:
    found = refusal(text)
    assert says in found.message
    assert mend in found.mend


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    plain = "a: b\nc: |\n  d\n  e\n"
    assert read(b"\xef\xbb\xbf" + plain.encode()) == read(plain.replace("\n", "\r\n")) == read(plain) == {"a": "b", "c": "d\ne\n"}


def test_a_file_that_says_nothing_is_null() -> None:
    assert [read(text) for text in ("", "\n", "# a\n", "---\n", "---\n...\n")] == [None] * 5


def test_a_quoted_key_may_be_any_word() -> None:
    assert read('"<<": 1\n"a b": 2\n"*": 3\n') == {"<<": 1, "a b": 2, "*": 3}


# ---------------------------------------------------------------------------------------------------- what never hangs

LAUGHS = "a: &a [x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9))
HOSTILE = {
    "flow lists": "[" * 100_000,
    "flow lists, closed": "[" * 100_000 + "]" * 100_000,
    "flow mappings": "{a: " * 100_000,
    "block lists": "- " * 100_000 + "x",
    "block mappings": "".join(f"{' ' * depth}a:\n" for depth in range(1000)),
    "complex keys": "? " * 100_000,
    "billion laughs": LAUGHS,
    "open quote": 'a: "' + "\\\n" * 100_000,
    "many documents": "---\n" * 100_000,
    "anchors": "&a " * 100_000,
    "brackets and braces": "[{" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_at_once(name: str) -> None:
    began = time.monotonic()
    refusal(HOSTILE[name])
    assert time.monotonic() - began < 2


def test_depth_is_bounded_by_a_rule_of_ours() -> None:
    assert read("[" * 64 + "]" * 64)
    assert "deeper than 64" in refusal("[" * 70 + "]" * 70).message
    assert refusal("".join(f"{' ' * depth}a:\n" for depth in range(70))).where.line == 66


def test_a_huge_file_is_not_parsed() -> None:
    assert "larger than" in refusal(b"a" * (MAX_BYTES + 1)).message


@pytest.mark.parametrize(
    "text", ["a: " + "x" * 1_000_000, "- a\n" * 120_000, "[" + "{}," * 150_000 + "]", "".join(f"k{n}: 1\n" for n in range(45_000))],
    ids=["one line", "items", "mappings", "keys"],
)  # fmt: skip
def test_large_files_are_read_in_seconds(text: str) -> None:
    began = time.monotonic()
    assert read(text)
    assert time.monotonic() - began < 15


# ------------------------------------------------------------------------------------------------------------- places


def test_a_pointer_finds_the_line_that_said_it_or_its_nearest_parent() -> None:
    node = compose(b"a:\n  b: [1,\n    2]\n'c/d~e':\n  - f: 1\n", "a.yaml")
    lines = {"": 1, "/a": 1, "/a/b": 2, "/a/b/1": 3, "/c~1d~0e": 4, "/c~1d~0e/0/f": 5, "/a/x": 1, "/a/b/7": 2, "/a/b/01": 2, "/a/b/-": 2}
    assert {pointer: find(node, pointer)[1] for pointer in lines} == lines


def test_a_step_in_a_list_is_digits_without_leading_zeros() -> None:
    assert [list_index(step, 20) for step in ("0", "7", "19")] == [0, 7, 19]
    assert [list_index(step, 20) for step in ("20", "01", "-1", "²", "٣", "", "9" * 5000)] == [None] * 7


def test_pointers_escape_what_rfc_6901_says() -> None:
    assert pointer_to("a/b", "c~d", 3, "") == "/a~1b/c~0d/3/"


def test_merged_mappings_keep_the_place_of_each_value() -> None:
    first, second = compose(b"a: 1\nb: {c: 1, d: [1, 2]}\n", "one.yaml"), compose(b"\nb: {d: [3]}\ne: 2\n", "two.yaml")
    merged = merge(first, second)
    assert typed(merged, {}) == {"a": 1, "b": {"c": 1, "d": [3]}, "e": 2}
    assert [find(merged, p) for p in ("/a", "/b/c", "/b/d", "/e")] == [("one.yaml", 1), ("one.yaml", 2), ("two.yaml", 2), ("two.yaml", 3)]


# --------------------------------------------------------------------------------------------------------- properties

PRINTABLE = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Cn", "Zl", "Zp"]), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False) | PRINTABLE,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(PRINTABLE, below, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 0, 2]), st.booleans())
def test_a_json_document_is_the_same_value(value: object, indent: int | None, escaped: bool) -> None:
    assert read(json.dumps(value, ensure_ascii=escaped, indent=indent)) == value


def test_a_character_that_json_escapes_in_two_halves_is_one() -> None:
    text = r'{"a": "\ud83d\ude00", "b": "\\ud83d\\ude00", "c": "\\\ud83D\uDE00"}'
    assert read(text) == json.loads(text) == {"a": "😀", "b": r"\ud83d\ude00", "c": "\\😀"}
    assert read(r"a: \ud83d\ude00") == {"a": r"\ud83d\ude00"}
    for half in (r'{"a": "\ud83d"}', r'{"a": "\ude00\ud83d"}', r'{"a": "\ud83dx\ude00"}'):
        refusal(half)


def well_formed(node: Node) -> bool:
    """True if a node is made of nodes, each with its place."""
    below: list[Any] = (
        [p.value for p in node.pairs] if isinstance(node, Mapping) else list(node.items) if isinstance(node, Sequence) else []
    )
    return isinstance(node, (Scalar, Sequence, Mapping)) and node.file == "a.yaml" and node.line >= 1 and all(map(well_formed, below))


def node_or_refusal(data: bytes) -> None:
    """Composes the text and types it; anything but a node or a SpecError with a line fails the test."""
    began, found = time.monotonic(), ()
    try:
        node = compose(data, "a.yaml")
        assert well_formed(node)
        json.dumps(typed(node, {}), allow_nan=False).encode()
    except SpecError as error:
        found = error.problems
    assert all(p.where.line for p in found)
    assert time.monotonic() - began < 2


@given(st.binary(max_size=200))
def test_random_bytes_give_a_node_or_a_refusal(data: bytes) -> None:
    node_or_refusal(data)


@given(st.text(max_size=200))
def test_random_text_gives_a_node_or_a_refusal(text: str) -> None:
    node_or_refusal(text.encode("utf-8", "surrogatepass"))


TOKENS = ["a", "b: ", ": ", "- ", "? ", "\n", "\n  ", "\n\t", "[", "]", "{", "}", ",", "&x ", "*x", "!", "!!str ", "|", ">", "'", '"', "#", "%", "---\n", "...\n", "<<", "~", "1.10", "\\", "@", "`", "\ufeff", "é", "\x00"]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=40))
def test_random_rows_of_yaml_tokens_give_a_node_or_a_refusal(tokens: list[str]) -> None:
    node_or_refusal("".join(tokens).encode())


VALID = b"""schema: 1
name: a/b   # a comment
list: [1, "two", 'three', {four: 4}]
text: |
  a block
  of text
folded: >-
  one
  two
deep: {a: {b: {c: [1.5, null, true]}}}
"""


@given(st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 3), st.integers(0, 255)), min_size=1, max_size=6))
def test_mutated_files_give_a_node_or_a_refusal(changes: list[tuple[int, int, int]]) -> None:
    data = bytearray(VALID)
    for at, what, byte in changes:
        at = min(at, len(data) - 1)
        data[at : at + (what != 1)] = b"" if what == 0 else data[byte % len(data) :][:8] if what == 3 else bytes([byte])
    node_or_refusal(bytes(data))
