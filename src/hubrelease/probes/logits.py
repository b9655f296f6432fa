"""Logits are finite, and over plain English they are no uniform guess: NaN, infinities and weights that say nothing show here."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hubrelease import judging
from hubrelease.engines.transformers import Transformers
from hubrelease.probes import SKIPPED, Probe, Row, Session, judged, rounded

TEXT = (
    "The ferry leaves the island at seven in the morning and returns before dark. In winter, when the sea is rough, it stays "
    "in the harbour, and the people of the village wait for the post until the wind has turned. "
)


def skip(session: Session) -> str | None:
    if isinstance(session.engine, Transformers) or told(session) or decisions(session):
        return None
    return f"{session.engine.facts().name} tells no log probabilities"


def told(session: Session) -> list[float]:
    """Log probabilities of what was answered so far."""
    return [p for answer in session.answers.values() for p in answer.logprobs or ()]


def decisions(session: Session) -> list[list[float]]:
    """Distributions of the decisions so far, those that are none with NaN in them."""
    rows = [row for answer in session.answers.values() for row in (answer.decisions or {}).values() if isinstance(row, dict)]
    return [[float(p) if judging.is_share(p) else math.nan for p in judging.distribution(row)] for row in rows]


def run(session: Session) -> Iterator[Row]:
    if isinstance(session.engine, Transformers):
        answer = session.engine.read(TEXT)
        values, shares = list(answer.logprobs or ()), list(answer.entropies or ())
    else:
        values = told(session) or [p for row in decisions(session) for p in row]
        shares = [s for answer in session.answers.values() for s in answer.entropies or ()] if told(session) else []
    broken = sum(not math.isfinite(value) for value in values)
    yield judged("logits:finite", {"values": len(values), "notFinite": broken}, {"values": {"min": 1}, "notFinite": {"is": 0}})
    if isinstance(session.engine, Transformers) and not broken:
        mean = math.fsum(shares) / max(1, len(shares))
        limit = {"shareOfUniform": {"max": session.suite.at_most("predictive_entropy")}, "why": session.suite.reason("predictive_entropy")}
        perplexity = math.exp(min(700.0, -math.fsum(values) / max(1, len(values))))
        yield judged("canary:entropy", {"shareOfUniform": rounded(mean), "perplexity": rounded(perplexity), "tokens": len(values)}, limit)
    elif found := decisions(session):
        yield decision_canary(session, found)
    else:
        yield Row("canary:entropy", SKIPPED, False, reason="a server tells no whole distribution; repetition is looked at instead")


def decision_canary(session: Session, found: list[list[float]]) -> Row:
    """The least even of the answers: even chances everywhere come from a readout that sees nothing."""
    shares = [entropy(row) for row in found if len(row) > 1 and all(map(math.isfinite, row))]
    limit = {"shareOfUniform": {"max": session.suite.at_most("decision_entropy")}, "why": session.suite.reason("decision_entropy")}
    return judged("canary:entropy", {"shareOfUniform": rounded(min(shares, default=1.0)), "decisions": len(shares)}, limit)


def entropy(chances: list[float]) -> float:
    return -math.fsum(p * math.log(p) for p in chances if p > 0) / math.log(len(chances))


PROBE = Probe("logits", skip, run, required=False)
