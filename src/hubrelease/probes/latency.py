"""How long an answer takes for prompts of a few sizes: the median of three after one that is not counted, one request at a time.

No prompt is asked twice: servers keep what they have read, and the second time would be that of the last token alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from hubrelease.long_prompts import SENTENCE
from hubrelease.models import as_mapping
from hubrelease.probes import SKIPPED, Probe, Row, Session, judged, rounded
from hubrelease.suites import TALKS, Request

TIMES = 3
NEW_TOKENS = 8
WORDS_A_TOKEN = 0.75  # about, of English; the tokens that the engine counts stand in the report


def skip(session: Session) -> str | None:
    if not session.suite.latency_tokens:
        return "release.yaml asks for no sizes"
    return None if kind_of(session) else "the release takes no text alone"


def kind_of(session: Session) -> str | None:
    return next((k for k in ("decision", *TALKS) if k in session.suite.takes and k in session.engine.kinds), None)


def run(session: Session) -> Iterator[Row]:
    kind = kind_of(session)
    assert kind is not None
    for tokens in session.suite.latency_tokens:
        if (room := context_of(session)) is not None and tokens + NEW_TOKENS > room:
            yield Row(f"latency:{tokens}", SKIPPED, False, reason=f"the model has room for {room} tokens")
            continue
        answers = [session.engine.ask(request_of(kind, tokens, n)) for n in range(TIMES + 1)][1:]
        measured: dict[str, Any] = {"medianMs": rounded(median(a.seconds for a in answers) * 1000), "runs": TIMES}
        measured |= {"promptTokens": answers[0].prompt_tokens} if answers[0].prompt_tokens is not None else {}
        most = session.suite.limit("latency_ms")
        limit = {**({"medianMs": {"max": most}} if most is not None else {}), "why": session.suite.reason("latency_ms")}
        yield judged(f"latency:{tokens}", measured, limit)


def context_of(session: Session) -> int | None:
    """Tokens that the config has room for; None where it does not say."""
    config = session.release.config()
    found = as_mapping(config.get("text_config")).get("max_position_embeddings", config.get("max_position_embeddings"))
    return found if type(found) is int else None


def request_of(kind: str, tokens: int, which: int) -> Request:
    """Prompts of another `which` have no beginning in common."""
    first = 1 + which * (2 + tokens // 12)
    words = "".join(SENTENCE.format(number=n) for n in range(first, first + 1 + tokens // 12)).split()
    text = " ".join(words[: max(1, round(tokens * WORDS_A_TOKEN))])
    question = {"q": {"type": "noul", "instructions": "Is the harbour quiet?"}}
    body = {"messages": [{"role": "user", "content": text}], "prompt": text, "state": text, "questions": question, "maxTokens": NEW_TOKENS}
    return Request(f"latency-{tokens}", kind, body, {})


PROBE = Probe("latency", skip, run, required=False)
