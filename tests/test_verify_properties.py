"""What holds for every input: reading a provenance never raises, a path that passes stays inside, shown text is harmless."""

from __future__ import annotations

import json
import posixpath
from typing import Any

import tiny
from hypothesis import example, given, settings
from hypothesis import strategies as st
from verifying import harmless

from hubrelease import verify_release
from hubrelease.verify_release import (
    Finding,
    Provenance,
    Subject,
    escape,
    fold,
    imports_by_pickle,
    lfs_pointer,
    names_in,
    parse_provenance,
    path_fault,
    printable,
    release_name,
)

STATEMENT = tiny.statement(dict.fromkeys(tiny.model(), b"x"))
GOOD = tiny.dumps(STATEMENT)
calm = settings(deadline=None)  # a busy machine is no fault
ANY_TEXT = st.text(st.characters(codec=None), max_size=40)  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(10**60, 10**70) | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=8,
)
PLACES = [
    ("_type",), ("predicateType",), ("subject",), ("predicate",), ("predicate", "buildDefinition"), ("subject", 0), ("subject", 3, "name"),
    ("subject", 3, "digest"), ("subject", 3, "digest", "sha256"), ("subject", 3, "annotations"), ("subject", 3, "annotations", "sizeBytes"),
    ("subject", 3, "annotations", "role"), ("predicate", "buildDefinition", "externalParameters"),
    ("predicate", "buildDefinition", "externalParameters", "spec"), ("predicate", "buildDefinition", "externalParameters", "spec", "name"),
]  # fmt: skip


def sound(provenance: Provenance) -> None:
    """What a Provenance promises of any document."""
    for subject in provenance.subjects:
        assert path_fault(subject.name) is None
        assert len(subject.sha256) == 64
        assert 0 <= subject.size < 2**63
        assert isinstance(subject.role, str)
    assert len({s.name for s in provenance.subjects}) == len(provenance.subjects)
    assert len(verify_release.release_digest(provenance.subjects)) == 64
    assert provenance.findings or (provenance.subjects and release_name(provenance.document))
    for found in provenance.findings:
        assert isinstance(found, Finding)
        assert harmless(escape(found.message))
        assert len(found.message) < 2000


@calm
@given(st.binary(max_size=200))
@example(b"\xff")
@example(b"{}")
def test_any_bytes(data: bytes) -> None:
    sound(parse_provenance(data))


@calm
@given(JSON)
def test_any_json(value: Any) -> None:
    sound(parse_provenance(json.dumps(value).encode()))


@calm
@given(st.sampled_from(PLACES), JSON)
def test_a_statement_with_any_value_at_any_place(place: tuple[str | int, ...], value: Any) -> None:
    statement = json.loads(GOOD)
    at: Any = statement
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    sound(parse_provenance(json.dumps(statement).encode()))


@calm
@given(st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 30), st.binary(max_size=6)), min_size=1, max_size=5))
def test_a_statement_with_bytes_cut_out_and_put_in(cuts: list[tuple[int, int, bytes]]) -> None:
    data = GOOD
    for at, length, new in cuts:
        data = data[:at] + new + data[at + length :]
    sound(parse_provenance(data))


@calm
@given(ANY_TEXT | st.lists(st.sampled_from(["..", ".", "", "a", "\\", "C:", "\n", "e\u0301", "/"]), max_size=6).map("/".join))
def test_a_path_that_passes_stays_inside_and_can_be_shown(name: str) -> None:
    fault = path_fault(name)
    assert fault is None or fault.split()[0] in ("is", "holds", "leaves", "has")
    if fault is None:
        assert posixpath.normpath(name) == name
        assert not name.startswith(("/", "../"))
        assert name != ".."
        assert name.encode("utf-8").decode() == name
        assert not set("\0\n\\") & set(name)


@calm
@given(ANY_TEXT, ANY_TEXT)
def test_folding_is_stable_and_knows_case_and_form(one: str, other: str) -> None:
    assert fold(fold(one)) == fold(one)
    if one.lower() == other.lower():
        assert fold(one) == fold(other)


@calm
@given(ANY_TEXT | st.binary(max_size=30).map(lambda data: data.decode("utf-8", "surrogateescape")))
@example(" ::error::x")
@example(":")
@example("a##[error]")
@example("\ud800\udcff")
def test_shown_text_is_one_harmless_line(text: str) -> None:
    shown = escape(text)
    assert harmless(f"{shown}: the rest of a line")
    assert "\n" not in shown
    printable(text).encode("utf-8")


@calm
@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda tail: b"cos\nsystem\n" + tail))
def test_looking_at_any_head_never_raises(data: bytes) -> None:
    imports_by_pickle(data)
    lfs_pointer(data)
    names_in(data, {b"a", b"a b", b""})


@calm
@given(st.lists(st.tuples(st.text("ab/é", min_size=1, max_size=6), st.integers(0, 9)), max_size=6, unique_by=lambda pair: pair[0]))
def test_the_digest_does_not_depend_on_the_order_of_the_listing(rows: list[tuple[str, int]]) -> None:
    subjects = [Subject(name, "0" * 64, size, "other") for name, size in rows]
    assert verify_release.release_digest(subjects) == verify_release.release_digest(reversed(subjects))
