"""Rows files that are refused: with file, line, place in the line and the reason; never a traceback."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from decision_rows import HEADER, line, row, session, write
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hubrelease import resources
from hubrelease.decisions.records import MAX_LINE_BYTES, Place
from hubrelease.decisions.report import compare
from hubrelease.decisions.rows import Row, RowFault, row_of
from hubrelease.decisions.rows_file import MAX_PROBLEMS, RowsFile
from hubrelease.errors import CheckFailed, OutsideError, Problem

GOOD = line(HEADER) + line(row(0)) + line(row(1))


def refused(folder: Path, candidate: bytes, **options: Any) -> tuple[Problem, ...]:
    """The problems of a report whose candidate has these bytes."""
    (folder / "a.jsonl").write_bytes(GOOD)
    (folder / "b.jsonl").write_bytes(candidate)
    with pytest.raises(CheckFailed) as caught:
        compare(folder / "a.jsonl", folder / "b.jsonl", **options)
    return caught.value.problems


WRONG_VALUES = {
    "no sum of 1": ({"probabilities": [0.5, 0.2, 0.2]}, "/probabilities", "sum to 0.9"),
    "negative": ({"probabilities": [1.5, -0.25, -0.25]}, "/probabilities", "holds 1.5"),
    "text for a number": ({"probabilities": ["0.5", 0.25, 0.25]}, "/probabilities", 'holds "0.5"'),
    "true for a number": ({"probabilities": [True, 0, 0]}, "/probabilities", "holds True"),
    "one too few": ({"probabilities": [0.5, 0.5]}, "/probabilities", "a list of 3 numbers"),
    "no probabilities": ({"probabilities": None}, "/probabilities", "must be a list"),
    "label not among the candidates": ({"label": "d"}, "/label", 'is "d", which is not among'),
    "choice not among the candidates": ({"choice": "d"}, "/choice", "not among"),
    "doubled candidate": ({"candidates": ["a", "a", "b"]}, "/candidates", "different texts"),
    "one candidate": ({"candidates": ["a"], "probabilities": [1]}, "/candidates", "a list of 2"),
    "no id": ({"id": None}, "/id", "is missing"),
    "number as id": ({"id": 5}, "/id", "is 5, must be a text"),
    "unknown status": ({"status": "fine"}, "/status", "must be one of ok, failed"),
    "negative latency": ({"latencyMs": -1}, "/latencyMs", "must be a number from 0"),
    "endless latency": ({"latencyMs": 1e300}, "/latencyMs", "must be a number"),
    "half a token": ({"inputTokens": 1.5}, "/inputTokens", "a whole number"),
    "many digits": ({"inputTokens": 10**400}, "/inputTokens", "a number of many digits"),
    "no rotations": ({"rotations": 0}, "/rotations", "a whole number from 1"),
    "no digest": ({"requestDigest": "abc"}, "/requestDigest", "64 hexadecimal digits"),
    "text as abstained": ({"abstained": "no"}, "/abstained", "true or false"),
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_a_wrong_value_is_named_with_line_and_place(tmp_path: Path, name: str) -> None:
    changed, pointer, message = WRONG_VALUES[name]
    (found,) = refused(tmp_path, line(HEADER) + line(row(0)) + line(row(1, **changed)))
    assert (found.code, found.where.file, found.where.line, found.where.pointer) == ("HR603", "b.jsonl", 3, pointer)
    assert message in found.message


WRONG_BYTES = {
    "NaN": (GOOD.replace(b"0.5,", b"NaN,"), 2, "NaN is not JSON"),
    "infinity": (GOOD.replace(b"0.5,", b"1e999,"), 2, "holds inf"),
    "cut last line": (GOOD[:-20], 3, "is cut: the file ends without a line feed"),
    "last line without its end": (GOOD[:-1], 3, "is cut"),
    "empty file": (b"", 1, "the file is empty"),
    "no header": (line(row(0)) + line(row(1)), 1, "must be the run's header"),
    "second header": (GOOD + line(HEADER), 4, "is a second header"),
    "header of a later version": (GOOD.replace(b'"schemaVersion":1', b'"schemaVersion":2'), 1, "must be 1"),
    "session without an event": (GOOD + line({"kind": "decision-session"}), 4, '"event" is missing'),
    "session of text": (GOOD + line(session("end") | {"powerLimitW": "395 W"}), 4, "must be a list or empty"),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, 1, "byte order mark"),
    "UTF-16": (GOOD.decode().encode("utf-16"), 1, "UTF-16"),
    "Latin-1": (GOOD.replace(b"routing", "Fragefürsorge".encode("latin-1")), 2, "is not UTF-8"),
    "gzip": (gzip.compress(GOOD), 1, "gzip"),
    "half a surrogate pair": (GOOD.replace(b"routing", b"\\ud800"), 2, "half a surrogate pair"),
    "blank line": (GOOD + b"\n", 4, "is empty"),
    "an array": (GOOD + b"[]\n", 4, "is no JSON object"),
    "doubled key": (GOOD.replace(b'"status"', b'"label":"b","status"'), 2, "a key stands twice"),
    "deep": (GOOD + b'{"a":' + b"[" * 100_000 + b"\n", 4, "nested too deeply"),
    "huge line": (GOOD + b'{"id":"' + b"x" * MAX_LINE_BYTES + b'"}\n', 4, "is longer than 1,048,576 bytes"),
    "huge number": (GOOD.replace(b'"inputTokens":100', b'"inputTokens":' + b"9" * 5000), 2, "is not strict JSON"),
    "doubled id": (GOOD + line(row(0)), 4, '"row-00000" stands on line 2 too'),
    "binary": (bytes(range(256)), 1, "is not"),
}


@pytest.mark.parametrize("name", WRONG_BYTES)
def test_wrong_bytes_are_named_with_their_line(tmp_path: Path, name: str) -> None:
    data, number, message = WRONG_BYTES[name]
    found = refused(tmp_path, data)[0]
    assert (found.code, found.where.file, found.where.line) == ("HR603", "b.jsonl", number)
    assert message in found.message


def test_all_bad_lines_of_both_files_are_told_at_once_up_to_a_limit(tmp_path: Path) -> None:
    bad = line(HEADER) + b"".join(line(row(n, label="x")) for n in range(MAX_PROBLEMS + 9))
    (tmp_path / "a.jsonl").write_bytes(GOOD + b"x\n")
    (tmp_path / "b.jsonl").write_bytes(bad)
    with pytest.raises(CheckFailed) as caught:
        compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert [p.where.file for p in caught.value.problems] == ["a.jsonl"] + ["b.jsonl"] * (MAX_PROBLEMS + 1)
    assert "the rest was not read" in caught.value.problems[-1].message


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(GOOD.splitlines())), max_size=6).map(b"\n".join))
def test_no_bytes_are_a_bug(data: bytes) -> None:
    import io

    file = RowsFile(Path("x.jsonl"), io.BytesIO(data))
    assert list(file.rows()) or file.problems or file.run.header


# -------------------------------------------------------------------------------------------------------------- unmatched


def other(number: int, **changed: Any) -> bytes:
    return line(HEADER) + line(row(0)) + line(row(number, **changed))


UNMATCHED = {
    "missing": (line(HEADER) + line(row(0)), {"missing": 1}),
    "extra": (GOOD + line(row(2)), {"extra": 1}),
    "another id": (other(2), {"missing": 1, "extra": 1}),
    "another request": (other(1, requestDigest="b" * 64), {"differentRequest": 1}),
    "another label": (other(1, label="b"), {"differentQuestion": 1}),
    "another task": (other(1, task="other"), {"differentQuestion": 1}),
    "other candidates": (other(1, candidates=["a", "b", "d"]), {"differentQuestion": 1}),
}


@pytest.mark.parametrize("name", UNMATCHED)
def test_rows_that_do_not_match_are_refused_or_left_out_with_their_counts(tmp_path: Path, name: str) -> None:
    data, counts = UNMATCHED[name]
    assert {p.code for p in refused(tmp_path, data)} == {"HR604"}
    found = compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl", exclude_unmatched=True)["matching"]
    assert found == {"compared": 1, "missing": 0, "extra": 0, "differentRequest": 0, "differentQuestion": 0, "notAnswered": 0, "inputTokensDiffer": 0} | counts | {"compared": 2 if name == "extra" else 1}  # fmt: skip


def test_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, GOOD.replace(b'"concurrency":1', b'"concurrency":1,"dataset":{"rows":3}'))
    assert (found.code, found.where.pointer) == ("HR604", "/dataset/rows")
    assert "has 2 rows, and the run's header says 3" in found.message


def test_nothing_in_common_is_refused_whatever_was_asked(tmp_path: Path) -> None:
    assert "no row can be compared" in refused(tmp_path, line(HEADER) + line(row(7)), exclude_unmatched=True)[0].message


@pytest.mark.parametrize("name", ["absent", "folder"])
def test_a_file_that_can_not_be_read_is_no_verdict(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutsideError, match="can't be read"):
        compare(write(tmp_path / "a.jsonl", [row()]), tmp_path / name)


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [row(0), row(1)])
    with path.open("r+b") as stream:
        file = RowsFile(path, stream)
        places = [found.place for found in file.rows()]
        assert file.again(places[1]).id == "row-00001"
        stream.seek(places[1].offset)
        stream.write(b" " * 40)
        stream.flush()
        with pytest.raises(OutsideError, match="was changed while it was read"):
            file.again(places[1])


# ----------------------------------------------------------------------------------------------------- schema and reader


ODD = [None, True, 0, 1, -1, 2.5, 10**30, "x", "", [], {}, ["a", "b"], [0.5, 0.5], [2, -1], "A" * 64, "a" * 2001]
MORE_THAN_A_SCHEMA_SAYS = {"label", "choice", "candidates", "probabilities"}  # who is among whom, equal lengths, the sum


def taken(value: dict[str, Any]) -> Row | None:
    try:
        return row_of(value, Place(1, 0, 1))
    except RowFault:
        return None


@pytest.mark.parametrize("status", ["ok", "failed"])
@pytest.mark.parametrize("key", [*sorted(row()), "abstained"])
def test_schema_and_reader_agree(key: str, status: str) -> None:
    schema = Draft202012Validator(resources.schema("decision-row"))
    for odd in ODD:
        value = row(status=status) | {key: odd}
        fits = not list(schema.iter_errors(json.loads(json.dumps(value))))
        if status == "failed" and key in ("candidates", "probabilities", "choice", "latencyMs"):
            continue  # of a row that was not answered nobody reads them
        assert not taken(value) or fits, odd
        assert taken(value) or not fits or key in MORE_THAN_A_SCHEMA_SAYS, odd


def test_the_files_that_tests_make_fit_the_schema(tmp_path: Path) -> None:
    schema = Draft202012Validator(resources.schema("decision-row"))
    for value in (HEADER, row(), session("start", warmupRows=3), session("end", None, 10.0, 4)):
        assert list(schema.iter_errors(value)) == []
