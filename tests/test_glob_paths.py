"""glob_paths: which paths a pattern means, and that no pattern takes long."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubrelease.glob_paths import matches, matches_any

MEANT = {
    "*.json": (["a.json", ".json", "é b.json"], ["a/b.json", "a.jsonl", "json"]),
    "**": (["a", "a/b", "a/b/c.d"], []),
    "**/*.json": (["a.json", "a/b.json", "a/b/c.json"], ["a.txt"]),
    "a/**": (["a/b", "a/b/c"], ["b/a", "ab/c"]),
    "a/": (["a/b", "a/b/c"], ["a", "b/a/c"]),
    "a/**/b": (["a/b", "a/x/b", "a/x/y/b"], ["a/xb", "ab"]),
    "./a": (["a"], ["./a", "b/a"]),
    "?.bin": (["a.bin"], ["ab.bin", "/.bin", ".bin"]),
    "model-*-of-*.safetensors": (
        ["model-1-of-2.safetensors", "model--of-.safetensors"],
        ["model-1-of-2/x.safetensors", "model-1.safetensors"],
    ),
    "[ab].{x,y}+": (["[ab].{x,y}+"], ["a.x", "a"]),
    "a***b": (["ab", "a/x/b"], ["a"]),
    "**/**/x": (["x", "a/x", "a/b/x"], ["y"]),
    "**/a*b/**/c": (["ab/c", "x/aXb/y/c"], ["ab", "a/b/c"]),
    "": ([""], ["a"]),
}


@pytest.mark.parametrize("pattern", MEANT)
def test_a_pattern_means_these_paths_and_not_those(pattern: str) -> None:
    meant, others = MEANT[pattern]
    assert [path for path in meant if not matches(path, pattern)] == []
    assert [path for path in others if matches(path, pattern)] == []


def test_one_of_several_patterns_is_enough() -> None:
    assert matches_any("a.json", ["*.txt", "*.json"])
    assert not matches_any("a.json", [])


def plainly(path: str, pattern: str) -> bool:
    """The same rule as a regular expression that backtracks: slow for some patterns, and easy to see through."""
    pattern = re.sub(r"(\*\*/)+", "**/", re.sub(r"\*{3,}", "**", pattern.removeprefix("./")))
    pattern = pattern + "**" if pattern.endswith("/") else pattern
    forms = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|.", pattern, re.S)
    return re.fullmatch("".join(forms.get(token) or re.escape(token) for token in tokens), path, re.S) is not None


@settings(max_examples=600)
@given(
    st.lists(st.sampled_from(["a", "b", "/", "ab"]), max_size=8).map("".join),
    st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "*a", "/*"]), max_size=7).map("".join),
)
def test_a_pattern_means_what_its_plain_form_means(path: str, pattern: str) -> None:
    assert matches(path, pattern) == plainly(path, pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "b", "a" * 1000),
        ("**/a/" * 20 + "b", "a/" * 60 + "c"),
        ("**a" * 30 + "b", "a" * 1000),
        ("*?" * 30 + "/", "a" * 1000),
        ("**/*a*a*a*b/" * 10 + "x", ("a" * 15 + "/") * 60),
        ("*" * 1000 + "b", "a" * 1000),
        ("**/" * 1000 + "b", "a/" * 60 + "c"),
    ],
    ids=lambda text: text[:12],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    began = time.monotonic()
    assert not matches(path, pattern)
    assert time.monotonic() - began < 1
