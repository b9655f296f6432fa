"""A longer text of its own that neither goes in circles nor is made of strange characters: what gibberish looks like."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby

from hubrelease.probes import Probe, Row, Session, judged, rounded
from hubrelease.suites import TALKS, Request

PROMPT = "Write a short story about a lighthouse keeper who finds a letter in a bottle."
TOKENS = 96
LEAST_WORDS = 12
SHOWN = 300


def skip(session: Session) -> str | None:
    talks = [kind for kind in TALKS if kind in session.suite.takes and kind in session.engine.kinds]
    return None if talks else "the release writes no text"


def run(session: Session) -> Iterator[Row]:
    kind = "chat" if "chat" in session.suite.takes else "completion"
    body = {"messages": [{"role": "user", "content": PROMPT}], "prompt": "Once upon a time a lighthouse keeper", "maxTokens": TOKENS}
    text = session.engine.ask(Request("canary", kind, body, {})).text
    suite = session.suite
    measured = {**shape_of(text), "output": text[:SHOWN]}
    limit = {
        "words": {"min": LEAST_WORDS},
        "distinctShare": {"min": suite.at_most("distinct_share")},
        "longestRun": {"max": suite.at_most("longest_run")},
        "strangeShare": {"max": suite.at_most("strange_share")},
        "why": f"{suite.reason('distinct_share')}; {suite.reason('longest_run')}; {suite.reason('strange_share')}",
    }
    yield judged("canary:repetition", measured, limit)


def shape_of(text: str) -> dict[str, float]:
    """Words, the share of different runs of three of them, the most of one word in a row, the share of strange characters.

    Where a script puts no blanks between words, characters are counted in their place.
    """
    words = text.split()
    if len(text) > 20 * max(1, len(words)):
        words = list(text)
    threes = list(zip(words, words[1:], words[2:], strict=False))
    strange = sum(c == "\ufffd" or (unicodedata.category(c) in ("Cc", "Co", "Cn") and c not in "\n\t\r") for c in text)
    return {
        "words": len(words),
        "distinctShare": rounded(len(set(threes)) / len(threes)) if threes else 0.0,
        "longestRun": max((len(list(group)) for _, group in groupby(words)), default=0),
        "strangeShare": rounded(strange / max(1, len(text))),
    }


PROBE = Probe("repetition", skip, run, required=False)
