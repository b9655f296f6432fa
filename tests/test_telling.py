"""telling: a few problems stand for many, and never hide that one of those left out is an error."""

from __future__ import annotations

import pytest

from hubrelease.errors import Problem, Where
from hubrelease.telling import counted, few, named


def made(severities: str) -> list[Problem]:
    return [
        Problem("HR999", "x", Where("f", tensor=str(n)), str(n), "m", {"e": "error", "w": "warning"}[s]) for n, s in enumerate(severities)
    ]


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21])
def test_up_to_one_more_than_shown_all_are_told(count):
    assert list(few(made("e" * count))) == made("e" * count)


@pytest.mark.parametrize(("rest", "severity"), [("ww", "warning"), ("we", "error"), ("ew", "error")])
def test_the_rest_is_counted_and_as_severe_as_its_worst(rest, severity):
    found = list(few(made("w" * 20 + rest)))
    assert len(found) == 21
    assert (found[-1].severity, found[-1].where.tensor) == (severity, None)
    assert found[-1].message.startswith("2 more")


def test_names_and_counts():
    assert named(["a"]) == "a"
    assert named("abcdefg") == "a, b, c and 4 more"
    assert len(named(["x" * 1000])) == 120
    assert (counted(1, "tensor"), counted(2, "tensor")) == ("1 tensor", "2 tensors")
