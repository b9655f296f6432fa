"""Prompts of so many tokens, with a word to be found in them: plain sentences, filled up until the engine counts enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, islice

from hubrelease.engines import Answer, Engine, EngineFault
from hubrelease.suites import Request

SENTENCE = "On day {number} the harbour was quiet and the boats came back before the evening tide. "
NEEDLE = "The password of the lighthouse is heron. "
DECISION = {"password": {"type": "choice", "instructions": "What is the password of the lighthouse?",
                         "criteria": {"heron": None, "sparrow": None, "eagle": None}}}  # fmt: skip
QUESTION = "\nAnswer in one word: what is the password of the lighthouse?"
SLACK = 0.03  # of the tokens asked for; the template's own come on top
ROUNDS, LEAST = 8, 12
MOST_WORDS = 2  # a token: plain English has fewer than one


def filled(request: Request, engine: Engine) -> Request:
    """The request with its prompt. EngineFault where the engine can't count tokens."""
    wanted = int(request.body["tokens"])
    words, text = wanted, ""
    for _ in range(ROUNDS):
        text = text_of(words)
        found = engine.count(text)
        if found is None:
            raise EngineFault("can't say how many tokens a text has, so no prompt of that length can be made")
        if 0 <= found - wanted <= SLACK * wanted:
            break
        words = max(LEAST, round(words * wanted * (1 + SLACK / 2) / max(1, found)))
        if words > MOST_WORDS * wanted + LEAST:
            raise EngineFault(f"counts {found} tokens in {len(text.split())} words, so no prompt of that length can be made")
    asked = {"messages": [{"role": "user", "content": text}], "prompt": text, "state": text, "questions": DECISION}
    return replace(request, body={**request.body, **asked}, expect={**request.expect, "answers": {"password": "heron"}})


def text_of(words: int) -> str:
    """About so many words of prose. The word to be found lies a third of the way in."""
    sentences = (SENTENCE.format(number=number).split() for number in count(1))
    prose = list(islice(chain.from_iterable(sentences), max(LEAST, words - len((NEEDLE + QUESTION).split()))))
    third = len(prose) // 3
    return " ".join([*prose[:third], NEEDLE.strip(), *prose[third:]]) + QUESTION


def faults(request: Request, answer: Answer) -> Iterator[str]:
    """A prompt that was cut to fit is no prompt of that length."""
    if request.kind == "long" and answer.prompt_tokens is not None and answer.prompt_tokens < (1 - SLACK) * int(request.body["tokens"]):
        yield f"the engine counts {answer.prompt_tokens} tokens of a prompt of {request.body['tokens']}: it was cut"
