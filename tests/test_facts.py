"""Figures: found where they are said to be, in one of four sources, shown exactly; anything else is a problem with its place."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specs import COMMIT, MINIMAL, faults, folder, load, only, problems

from hubrelease.cards import render
from hubrelease.digest import FileDigest
from hubrelease.errors import CheckFailed, Where
from hubrelease.facts import MISSING, Facts, byte_text, resolve, show
from hubrelease.lock import Lock, LockedSource
from hubrelease.payload import Payload
from hubrelease.receipts import parse

HERE = Where("release.yaml", 7, "/card")
RECEIPT = {
    "results": {"gsm8k": {"exact_match,strict": 0.4375, "n": 1319}},
    "list": [1, [2, 3]],
    "a/b": 1,
    "m~n": 2,
    "": 3,
    "name": "org/model",
}
WEIGHTS = {"files": 1, "tensors": 812, "parameters": 10, "bytes": 4_212_334_000, "dtypes": {}}
PAYLOAD = Payload("b" * 64, {"files": {"count": 3, "bytes": 4096}, "weights": WEIGHTS})
LOCK = Lock((LockedSource("base_model", "hf", {"hf": "a/b"}, COMMIT, (FileDigest("x", "c" * 64, 1500),), license="mit"),))


def facts(root: Path, cells: list[Any], payload: Payload | None = PAYLOAD, **spec: Any) -> Facts:
    return Facts(load(root, facts_spec(cells, **spec)), LOCK, {"benchmarks/r.json": RECEIPT}, payload)


def facts_spec(cells: list[Any], **spec: Any) -> dict[str, Any]:
    rows = [[cell] for cell in cells or ["x"]]
    return {**MINIMAL, "card": {"tables": [{"title": "t", "columns": ["c"], "rows": rows}]}, "benchmarks": [{"receipt": "r.json"}], **spec}


def shown(root: Path, cell: Any, **spec: Any) -> str:
    """What the card shows in the one cell of its table."""
    card = render(facts(root, [cell], **spec))
    return card.split("| c |\n|---|\n| ")[1].split(" |\n")[0]


def refused(root: Path, *cells: Any, payload: Payload | None = PAYLOAD) -> list[str]:
    found = faults(lambda: render(facts(root, list(cells), payload)))
    assert all(p.kind == "figure-fault" and p.where.file == "release.yaml" and p.where.line for p in found)
    return [p.message for p in found]


def text(value: Any, **asked: Any) -> str:
    return show(value, {"pointer": "/x", **asked}, HERE, "r.json")


# --------------------------------------------------------------------------------------------------- the four sources


def test_a_figure_of_a_receipt_is_what_its_pointer_names(tmp_path: Path) -> None:
    assert (
        shown(tmp_path, {"receipt": "benchmarks/r.json", "pointer": "/results/gsm8k/exact_match,strict", "as": "percent", "decimals": 1})
        == "43.8%"
    )


def test_a_figure_of_the_payload_is_computed_from_its_files(tmp_path: Path) -> None:
    assert shown(tmp_path, {"payload": "weights", "pointer": "/bytes", "as": "bytes"}) == "4.21 GB"
    assert shown(tmp_path, {"payload": "files", "pointer": "/count"}) == "3"


def test_a_figure_of_the_lock_is_a_fact_of_a_source(tmp_path: Path) -> None:
    found = [shown(tmp_path, {"lock": "base_model", "pointer": f"/{key}"}) for key in ("revision", "license", "files", "bytes")]
    assert found == [COMMIT, "mit", "1", "1,500"]


def test_a_figure_of_the_spec_is_marked_as_stated(tmp_path: Path) -> None:
    assert shown(tmp_path, {"spec": True, "pointer": "/version"}) == "1.0.0 (stated)"
    assert not facts(tmp_path, []).figure({"payload": "files", "pointer": "/count"}, HERE).stated


def test_a_figure_knows_where_it_is_from(tmp_path: Path) -> None:
    asked = {"receipt": "benchmarks/r.json", "pointer": "/results/gsm8k/n"}
    found = facts(tmp_path, []).figure(asked, HERE)
    assert (found.value, found.shown, found.source, found.file, found.pointer) == (
        1319,
        "1,319",
        "receipt",
        "benchmarks/r.json",
        asked["pointer"],
    )


# -------------------------------------------------------------------------------------------------------- how it is shown


@pytest.mark.parametrize(
    ("value", "decimals", "wanted"),
    [(0.5, 0, "0"), (1.5, 0, "2"), (2.5, 0, "2"), (-2.5, 0, "-2"), (0.125, 2, "0.12"), (0.375, 2, "0.38"), (2.675, 2, "2.68"), (1, 3, "1.000"),
     (-0.001, 2, "0.00"), (1e20, 12, "100,000,000,000,000,000,000.000000000000"), (5e-324, 2, "0.00")],
)  # fmt: skip
def test_decimals_are_rounded_half_to_even_from_the_digits_that_were_written(value: float, decimals: int, wanted: str) -> None:
    assert text(value, decimals=decimals) == wanted


@pytest.mark.parametrize(("value", "wanted"), [(1234567, "1,234,567"), (1234.5, "1,234.5"), (-1000, "-1,000"), (999, "999"), (1e-7, "0.0000001"), (0, "0"), (1e16, "10,000,000,000,000,000")])  # fmt: skip
def test_thousands_have_commas_and_no_digit_is_made_up(value: float, wanted: str) -> None:
    assert text(value) == wanted


@pytest.mark.parametrize(
    ("value", "asked", "wanted"),
    [(0.1234, {}, "12.34%"), (0.5, {}, "50%"), (1, {}, "100%"), (0.00125, {"decimals": 2}, "0.12%"), (0.07, {"decimals": 1}, "7.0%"), (0.1, {"unit": "pp"}, "10 pp"), (10**30, {}, f"{10**32:,}%")],
)  # fmt: skip
def test_percent_is_a_fraction_times_a_hundred(value: float, asked: dict[str, Any], wanted: str) -> None:
    assert text(value, **{"as": "percent"}, **asked) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.00 kB"), (999_994, "999.99 kB"), (999_999, "1.00 MB"), (5_000_000, "5.00 MB"),
     (999_999_999, "1.00 GB"), (4_212_334_000, "4.21 GB"), (1_500_000_000_000, "1,500.00 GB")],
)  # fmt: skip
def test_bytes_are_shown_in_decimal_units(value: int, wanted: str) -> None:
    assert text(value, **{"as": "bytes"}) == wanted
    assert text(value, **{"as": "bytes"}, decimals=0).split(".")[0].isascii()


def test_a_unit_follows_the_figure() -> None:
    assert text(12.5, unit="ms") == "12.5 ms"
    assert text("fast", unit="ms") == "fast ms"


@given(st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 12))
def test_what_is_shown_is_no_further_off_than_half_of_its_last_digit(value: float, decimals: int) -> None:
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    assert abs(Fraction(text(value, decimals=decimals).replace(",", "")) - exact) <= Fraction(1, 2 * 10**decimals)
    assert Fraction(text(value).replace(",", "")) == exact


@given(st.integers(0, 10**15))
def test_a_size_is_never_shown_as_a_thousand_of_a_smaller_unit(size: int) -> None:
    from decimal import Decimal

    number = byte_text(Decimal(size)).split()[0]
    assert "," not in number or byte_text(Decimal(size)).endswith("GB")


# -------------------------------------------------------------------------------------------------------------- pointers


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("", RECEIPT), ("/list/0", 1), ("/list/1/1", 3), ("/a~1b", 1), ("/m~0n", 2), ("/", 3), ("/results/gsm8k/n", 1319)],
)
def test_a_pointer_is_rfc_6901(pointer: str, value: object) -> None:
    assert resolve(RECEIPT, pointer) == value


@pytest.mark.parametrize(
    "pointer",
    [
        "/absent",
        "/list/2",
        "/list/-",
        "/list/-1",
        "/list/01",
        "/list/0/0",
        "/list/²",
        "/name/0",
        "/list/" + "9" * 5000,
        "/results/gsm8k/",
        "/a/b",
    ],
)
def test_a_pointer_to_nowhere_is_a_problem(tmp_path: Path, pointer: str) -> None:
    assert resolve(RECEIPT, pointer) is MISSING
    assert "has nothing at" in only(faults(lambda: render(facts(tmp_path, [{"receipt": "benchmarks/r.json", "pointer": pointer}])))).message


# ------------------------------------------------------------------------------------------------------------ what is none


@pytest.mark.parametrize("value", [None, True, False, float("nan"), float("inf"), -float("inf"), [], {}, [1], {"a": 1}])
def test_what_is_no_finite_number_is_no_figure(value: object) -> None:
    with pytest.raises(CheckFailed, match="not a finite number"):
        text(value)


@pytest.mark.parametrize(
    ("value", "form"),
    [("12", "number"), ("12", "percent"), ("N/A", "bytes"), ("0.5", "fraction"), (5, "text"), (True, "text"), (None, "text")],
)
def test_text_is_no_number_and_a_number_no_text(value: object, form: str) -> None:
    with pytest.raises(CheckFailed):
        text(value, **{"as": form})


@pytest.mark.parametrize(
    ("form", "key", "value"), [("text", "decimals", 2), ("text", "sign", True), ("text", "from", "ms"), ("percent", "from", "ms")]
)
def test_what_has_no_effect_is_refused_not_ignored(form: str, key: str, value: object) -> None:
    with pytest.raises(CheckFailed, match="has no effect"):
        text("x" if form == "text" else 5, **{"as": form, key: value})


@pytest.mark.parametrize(
    "cell",
    [
        {"pointer": "/a"},
        {"receipt": "benchmarks/r.json", "lock": "base_model", "pointer": "/files"},
        {"payload": "files", "spec": True, "pointer": "/count"},
    ],
    ids=repr,
)
def test_a_figure_has_exactly_one_source(tmp_path: Path, cell: dict[str, Any]) -> None:
    (found,) = problems(tmp_path, facts_spec([cell]))
    assert ("exactly one of" in found.mend, found.where.pointer) == (True, "/card/tables/0/rows/0/0")


def test_sources_that_are_not_there_are_named_with_those_that_are(tmp_path: Path) -> None:
    assert refused(tmp_path, {"receipt": "benchmarks/s.json", "pointer": ""}) == ['"benchmarks/s.json" is no receipt of this release']
    assert refused(tmp_path, {"lock": "bsae", "pointer": ""}) == ['the lock has no source "bsae"']


def test_a_figure_of_the_payload_is_an_error_that_names_it_where_nothing_was_built(tmp_path: Path) -> None:
    (message,) = refused(tmp_path, {"payload": "weights", "pointer": "/tensors"}, payload=None)
    assert message == "payload:weights/tensors is known only after a build"


@pytest.mark.parametrize("cell", [{"receipt": "r"}, {"receipt": "r", "pointer": "a"}, {"spec": False, "pointer": ""}, {}, {"receipt": "r", "pointer": "", "decimals": 2.0}, {"receipt": "r", "pointer": "", "decimals": 13}, {"payload": "other", "pointer": ""}], ids=repr)  # fmt: skip
def test_a_malformed_cell_is_refused_with_the_spec(tmp_path: Path, cell: Any) -> None:
    asked = {**MINIMAL, "card": {"tables": [{"title": "t", "columns": ["c"], "rows": [[cell]]}]}}
    assert all(str(p.where.pointer).startswith("/card/tables/0/rows/0/0") for p in problems(tmp_path, asked))


@pytest.mark.parametrize("words", ["71.2", "0.93", "93 %", "1,234", "~5.1 GB", "≥ 12 ms", "1e-3", "2.5x", "−4 pp", "38 tok/s"])
def test_a_figure_typed_by_hand_is_refused(tmp_path: Path, words: str) -> None:
    """There is no fifth source; the first column holds labels, which may be numbers."""
    asked = {**MINIMAL, "card": {"tables": [{"title": "t", "columns": ["a", "b"], "rows": [[words, words]]}]}}
    found = only(faults(lambda: render(Facts(load(tmp_path, asked), LOCK, {}, None))))
    assert (found.kind, found.where.pointer) == ("figure-fault", "/card/tables/0/rows/0/1")


@pytest.mark.parametrize("words", ["v1.0", "1.0.0", "2024-01-01", "5-shot", "Llama-3 8B", "n/a", "", "first 3", "sm_120"])
def test_words_with_digits_are_words(tmp_path: Path, words: str) -> None:
    asked = {**MINIMAL, "card": {"tables": [{"title": "t", "columns": ["a", "b"], "rows": [["x", words]]}]}}
    assert not faults(lambda: render(Facts(load(tmp_path, asked), LOCK, {}, None)))


def test_every_faulty_figure_is_told_at_once(tmp_path: Path) -> None:
    cells = [{"receipt": "benchmarks/r.json", "pointer": pointer} for pointer in ("/absent", "/list", "/results/gsm8k/n", "/nowhere")]
    found = faults(lambda: render(facts(tmp_path, cells)))
    assert [p.where.pointer for p in found] == [f"/card/tables/0/rows/{n}/0" for n in (0, 1, 3)]


def test_a_row_has_a_cell_for_each_column(tmp_path: Path) -> None:
    asked = {**MINIMAL, "card": {"tables": [{"title": "t", "columns": ["a", "b"], "rows": [["x", "y"], ["z"], ["p", "q", "r"]]}]}}
    found = faults(lambda: render(Facts(load(tmp_path, asked), LOCK, {}, None)))
    assert [(p.where.pointer, p.message[:20]) for p in found] == [
        ("/card/tables/0/rows/1", "the row has 1 cells,"),
        ("/card/tables/0/rows/2", "the row has 3 cells,"),
    ]


# -------------------------------------------------------------------------------------------------------------- receipts


@pytest.mark.parametrize("data", ["", "{", "{'a': 1}", '{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[1,]", "// x\n1", "\ufeff{}", '{"a": ' + "[" * 5000, '{"a": ' + "1" * 5000 + "}"])  # fmt: skip
def test_a_receipt_is_strict_json(data: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        parse("r.json", data.encode())
    assert (caught.value.problems[0].kind, caught.value.problems[0].where.file) == ("receipt-unreadable", "r.json")


def test_a_receipt_of_lines_is_the_list_of_them_and_a_fault_has_its_line() -> None:
    assert parse("r.jsonl", b'{"a": 1}\n\n{"a": 2}\r\n') == [{"a": 1}, {"a": 2}]
    with pytest.raises(CheckFailed) as caught:
        parse("r.jsonl", b'{"a": 1}\n{"a": NaN}\n')
    assert caught.value.problems[0].where.line == 2


def test_receipts_that_are_not_there_or_unreadable_are_told_at_once(tmp_path: Path) -> None:
    from hubrelease.receipts import read_all

    names = ["absent.json", "../out.json", "sub", "bad.json", "good.json"]
    spec = load(
        tmp_path, {**MINIMAL, "benchmarks": [{"receipt": name} for name in names]}, bad__json="{", good__json="{}", **{"sub/x": "1"}
    )
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    found = faults(lambda: read_all(spec))
    assert [p.where.pointer or p.where.file for p in found] == [*(f"/benchmarks/{n}/receipt" for n in (0, 1, 2)), "bad.json"]


def test_a_link_out_of_the_folder_is_no_receipt(tmp_path: Path) -> None:
    from hubrelease.receipts import read_all

    (tmp_path / "out.json").write_text("{}")
    root = folder(tmp_path / "in", "")
    (root / "link.json").symlink_to(tmp_path / "out.json")
    assert (
        "leaves the folder"
        in only(faults(lambda: read_all(load(root, json.dumps({**MINIMAL, "benchmarks": [{"receipt": "link.json"}]}))))).message
    )
