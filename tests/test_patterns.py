"""Patterns of strangers end within their budget, in every thread, and ordinary ones cost next to nothing."""

from __future__ import annotations

import re
import signal
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubrelease.patterns import MAX_PATTERN, Budget, Matcher, PatternTooCostly

NAMES = [f"model.layers.{i}.mlp.experts.{j}.{p}_proj" for i in range(60) for j in range(556) for p in ("gate", "up", "down")]
EVIL = ["(a+)+$", "(a|aa)+$", "(.*)*b", "([a-z]+)*\\d", "(?:a?){40}a{40}$"]
LONG = "a" * 60


@pytest.mark.parametrize("pattern", EVIL)
def test_a_pattern_that_explodes_is_interrupted(pattern):
    budget, start = Budget(0.3), time.monotonic()
    with pytest.raises(PatternTooCostly) as raised:
        Matcher(pattern, budget=budget).matches(LONG + "!")
    assert raised.value.pattern == pattern
    assert time.monotonic() - start < 1.5


@pytest.mark.parametrize("pattern", EVIL[:3])
def test_so_it_is_in_another_thread(pattern):
    found = []

    def run():
        try:
            Matcher(pattern, budget=Budget(0.5)).matches(LONG + "!")
        except PatternTooCostly as costly:
            found.append(costly.pattern)
        found.append(Matcher("a+").select(["aaa", "b"]))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert found == [pattern, ["aaa"]]


def test_a_shared_budget_is_spent_once():
    budget, start = Budget(0.3), time.monotonic()
    stopped = 0
    for _ in range(100):
        try:
            Matcher("(a+)+$", budget=budget).matches(LONG + "!")
        except PatternTooCostly:
            stopped += 1
    assert stopped == 100
    assert time.monotonic() - start < 1


def test_a_hundred_thousand_names_take_well_under_a_second():
    budget, start = Budget(), time.monotonic()
    for pattern in (".*self_attn.*", r".*mlp\.(gate|up|gate_up|down)_proj.*", r"model\.layers\.0\..*", r".*\.down_proj$"):
        Matcher(pattern, budget=budget).select(NAMES)
    assert time.monotonic() - start < 1


def test_a_timer_of_someone_else_goes_on():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        with pytest.raises(PatternTooCostly):
            Matcher("(a+)+$", budget=Budget(0.1)).matches(LONG + "!")
        assert signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
        time.sleep(0.6)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung == [1]


@pytest.mark.parametrize("pattern", ["[", "(", "*a", "a{5,2}", "(?P<a>", "(" * 5000, "a" * (MAX_PATTERN + 1), "a{99999999999}", "(?<=a*)b"])
def test_what_is_no_expression_matches_nothing_and_says_why(pattern):
    matcher = Matcher(pattern)
    assert matcher.fault
    assert not matcher.matches("a")


def test_shell_wildcards():
    assert Matcher("model.layers.?.mlp*", "fnmatch").select(["model.layers.1.mlp.up", "model.layers.11.mlp", "model.layers.1"]) == [
        "model.layers.1.mlp.up"
    ]
    assert Matcher("b", "search").matches("abc")
    assert not Matcher("b", "fullmatch").matches("abc")


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=5))
def test_it_agrees_with_re(pattern, names):
    matcher = Matcher(pattern)
    try:
        expected = [name for name in names if re.match(pattern, name)]
    except (re.error, RecursionError, OverflowError):
        assert matcher.fault
        return
    assert matcher.select(names) == expected
