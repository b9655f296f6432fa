"""HR610 receipt-unreadable."""

import pytest
from cards import RECEIPT, judged, kinds

FAULTS = [
    b'{"a": 1,}',
    b'{"a": 1, "a": 2}',
    b"\xff\xfe{}",
    b"",
    b"{'a': 1}",
    b'{"a": 1} {"b": 2}',
    b"[" * 100_000,
    b'{"a": ' + b"9" * 5000 + b"}",
]


@pytest.mark.parametrize("data", FAULTS)
def test_bad_receipts(tmp_path, data):
    assert kinds(judged(tmp_path, receipts={RECEIPT: data})) == {("receipt-unreadable", "error", RECEIPT)}


def test_bad_line_of_many(tmp_path):
    (found,) = judged(tmp_path, receipts={"benchmarks/a.jsonl": b'{"a": 1}\n\n{"a": 1,}\n{"a": 2}\n'})
    assert (found.kind, found.where.line) == ("receipt-unreadable", 3)


def test_bad_with_nan_and_a_key_twice(tmp_path):
    found = judged(tmp_path, receipts={RECEIPT: b'{"a": NaN, "b": 1, "b": 2}'})
    assert {p.kind for p in found} == {"receipt-unreadable", "results-non-finite"}


@pytest.mark.parametrize("data", [b"{}", b"[]", b"7", b' {"a": [1, null, "N/A"]}\n'])
def test_good_receipts(tmp_path, data):
    assert not judged(tmp_path, receipts={RECEIPT: data, "results_2026.json": data, "benchmarks/a.jsonl": data + b"\n" + data})


def test_good_files_that_are_no_receipts(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 5000\n"
    receipts = {"benchmarks/notes.txt": b"{,}", "docs/x.json": b"{,}", "benchmarks/samples_gsm8k.jsonl": b"{,}", RECEIPT: pointer}
    assert not judged(tmp_path, receipts=receipts)
