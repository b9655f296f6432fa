"""Rows of two runs, one to one by id. Both files are read in step, so that runs in the same order need no memory.

A row whose partner comes later waits as its place in the file, and is read again. What is not paired is counted by reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from hubrelease.decisions.records import Place
from hubrelease.decisions.rows import Row
from hubrelease.decisions.rows_file import RowsFile
from hubrelease.errors import Problem, Where, problem

UNMATCHED = ("missing", "extra", "differentRequest", "differentQuestion")
MEANS = {
    "missing": "rows of the baseline have no partner here",
    "extra": "rows have no partner in the baseline",
    "differentRequest": "rows were asked with another request than the baseline's (requestDigest)",
    "differentQuestion": "rows differ from the baseline's in task, type, label or candidates",
}
MEND = "run the profile that lacks them again over the same data set, or leave such rows out with --exclude-unmatched"
Pair = tuple[Row, Row]


@dataclass
class Matching:
    """How many rows were compared, and how many not, by reason, with one id each as example."""

    compared: int = 0
    not_answered: int = 0
    other_tokens: int = 0
    unmatched: dict[str, int] = field(default_factory=lambda: dict.fromkeys(UNMATCHED, 0))
    examples: dict[str, tuple[str, int | None]] = field(default_factory=dict)

    def leave_out(self, reason: str, row_id: str, line: int | None, count: int = 1) -> None:
        self.unmatched[reason] += count
        self.examples.setdefault(reason, (row_id, line))

    def problems(self, file: str) -> Iterator[Problem]:
        for reason, count in self.unmatched.items():
            if count:
                row_id, line = self.examples[reason]
                message = f'{count:,} {MEANS[reason]} (first: "{row_id[:60]}")'
                yield problem("decision-runs-unmatched", Where(file, line), message, MEND)


def pairs(baseline: RowsFile, candidate: RowsFile, matching: Matching) -> Iterator[Pair]:
    """Each pair that can be compared: the same request, answered by both. The rest is counted in `matching`."""
    for left, right in partners(baseline, candidate, matching):
        if left.request != right.request:
            matching.leave_out("differentRequest", right.id, right.place.line)
        elif left.question != right.question:
            matching.leave_out("differentQuestion", right.id, right.place.line)
        elif left.status != "ok" or right.status != "ok":
            matching.not_answered += 1
        elif left.candidates != right.candidates and set(left.candidates) != set(right.candidates):
            matching.leave_out("differentQuestion", right.id, right.place.line)
        else:
            matching.compared += 1
            matching.other_tokens += left.input_tokens != right.input_tokens
            yield left, right


def partners(baseline: RowsFile, candidate: RowsFile, matching: Matching) -> Iterator[Pair]:
    early: dict[str, Place] = {}  # of the baseline, whose partner was not read yet
    late: dict[str, Place] = {}
    for left, right in zip_longest(baseline.rows(), candidate.rows()):
        if left is not None and right is not None and left.id == right.id:
            yield left, right
            continue
        if left is not None:
            if left.id in late:
                yield left, candidate.again(late.pop(left.id))
            else:
                early[left.id] = left.place
        if right is not None:
            if right.id in early:
                yield baseline.again(early.pop(right.id)), right
            else:
                late[right.id] = right.place
    if early:
        matching.leave_out("missing", next(iter(early)), None, len(early))
    if late:
        row_id, place = next(iter(late.items()))
        matching.leave_out("extra", row_id, place.line, len(late))
