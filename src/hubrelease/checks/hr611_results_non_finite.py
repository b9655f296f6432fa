"""A receipt, model-index or .eval_results/ holds NaN or an infinity.

Why it matters: such a token is no JSON, strict readers refuse the whole file; and it is no score that anybody could show.
Mend: Find out why the run gave no number; run the task again, or leave it out. Write null where a value is not known. If the
other figures of the receipt are to be shown all the same, waive this code for that file with the reason.
Infinity as a rate of requests is how SGLang writes that there was no limit: a warning.
Source: explosion/spaCy issue 10217; ludwig-ai/ludwig PR 3129; EleutherAI/lm-evaluation-harness results of 0.4.8 with Infinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.evaluations import Receipt, evaluations_of, receipts
from hubrelease.front_matter import kind_of
from hubrelease.release import Release
from hubrelease.results_yaml import read, result_files
from hubrelease.strict_yaml import Mapping, Node, Scalar, pointer_to

MEND = "run the task again or leave it out; where a value is not known, write null"
WORDS = ("nan", "inf", "-inf", "+inf", "infinity", "-infinity")
UNLIMITED = "/request_rate"
MAX_SHOWN = 10  # of one file: a diverged run has hundreds


def run(release: Release) -> Iterator[Problem]:
    found: dict[str, int] = {}
    places = chain(chain.from_iterable(map(of_receipt, receipts(release))), of_card(release), of_files(release))
    for where, token in places:
        found[where.file] = count = found.get(where.file, 0) + 1
        if count <= MAX_SHOWN:
            yield problem_of(where, token)
    for file, count in found.items():
        if count > MAX_SHOWN:
            yield CHECK.problem(Where(file), f"holds {count - MAX_SHOWN} more values that are no number", MEND)


def problem_of(where: Where, given: str) -> Problem:
    severity = "warning" if (where.pointer or "").endswith(UNLIMITED) and given == "Infinity" else "error"
    return CHECK.problem(where, f"holds {given}, which is no number and no JSON", MEND, severity)


def of_receipt(receipt: Receipt) -> Iterator[tuple[Where, str]]:
    for found in receipt.non_finite:
        yield Where(receipt.file, found.line, found.pointer), found.token
    for evaluation in evaluations_of(receipt):
        for metric in evaluation.metrics:
            if metric.text.strip().lower() in WORDS:
                yield Where(receipt.file, receipt.line, metric.pointer), f'"{metric.text.strip()}"'


def of_card(release: Release) -> Iterator[tuple[Where, str]]:
    node = release.card.front.get("model-index") if release.card else None
    return of_node(node, FILE, "/model-index") if node is not None else iter(())


def of_files(release: Release) -> Iterator[tuple[Where, str]]:
    for path in result_files(release):
        node = read(release, path).node
        if node is not None:
            yield from of_node(node, path, "")


def of_node(node: Node, file: str, pointer: str, key: str = "") -> Iterator[tuple[Where, str]]:
    """Values of keys named `value`: elsewhere a non-finite number can be an option that was meant."""
    if isinstance(node, Scalar):
        if key == "value" and (kind_of(node) == "non-finite number" or node.text.strip().lower() in WORDS):
            yield Where(file, node.line, pointer), node.text.strip()
        return
    pairs = [(pair.key, pair.value) for pair in node.pairs] if isinstance(node, Mapping) else enumerate(node.items)
    for name, below in pairs:
        yield from of_node(below, file, pointer + pointer_to(name), str(name))


CHECK = Check("HR611", "results-non-finite", "NaN or infinity among results", run)
