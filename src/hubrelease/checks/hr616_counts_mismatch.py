"""Counts of results do not add up: correct and total do not give the accuracy, buckets not the total, wins and losses not the difference.

Why it matters: one of the figures is wrong, and nothing says which.
Mend: Compute the shares from the counts; a hand-written total is the usual culprit.
Source: contract, section 3: figures that follow from counts are computed, never typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from hubrelease.card_text import FILE, Card, Table
from hubrelease.checks import Check
from hubrelease.claim_words import key, words
from hubrelease.counts import disagreements
from hubrelease.errors import Problem, Where
from hubrelease.evaluations import objects, pointer_of, receipts
from hubrelease.figures_shown import Shown, figure_of
from hubrelease.release import Release

CORRECT = words("correct right passed solved ncorrect numcorrect")
TOTAL = words("total n questions items samples problems of ntotal nsamples numquestions")
SHARE = words("accuracy acc passrate rate correctrate successrate")
SUMMED = CORRECT | TOTAL | words("wrong incorrect failed wins losses ties count counts tensors")
QUOTED = re.compile(
    r"(?<![\w./,-])(\d[\d,]{0,15})\s?(?:/|of|out of)\s?(\d[\d,]{0,15})\s?(?:\(|=|:|→)\s?(\d{1,3}(?:\.\d+)?)\s?%(?=\)|$|[.;]?\s*$)"
)
MEND = "compute the figures from one set of counts"
MAX_SHOWN = 10


def run(release: Release) -> Iterator[Problem]:
    for receipt in receipts(release):
        rows = ((path, message) for path, item in objects(receipt.value) for message in disagreements(item))
        for path, message in list(rows)[:MAX_SHOWN]:
            yield CHECK.problem(Where(receipt.file, receipt.line, pointer_of(path)), message, MEND)
    if release.card:
        yield from quoted_problems(release.card)
        for table in release.card.tables:
            yield from share_problems(table)
            yield from total_problems(table)


def quoted_problems(card: Card) -> Iterator[Problem]:
    """42 of 100 (42.0%), in prose or in a cell."""
    texts = [(line.number, line.text) for line in card.prose]
    texts += [(row.line, cell) for table in card.tables for row in table.rows for cell in row.cells]
    for line, text in texts:
        for part, whole, percent in QUOTED.findall(text):
            shown = figure_of(percent)
            if shown and number(part) <= number(whole) and not is_share(shown, number(part), number(whole), 100):
                yield CHECK.problem(Where(FILE, line), f"{part} of {whole} is not {percent}%", MEND)


def share_problems(table: Table) -> Iterator[Problem]:
    """Columns of correct, total and accuracy."""
    places = [[n for n, header in enumerate(table.headers) if key(header) in names] for names in (CORRECT, TOTAL, SHARE)]
    if any(len(place) != 1 for place in places):
        return
    for row in table.rows:
        correct, total, share = (figure_of(row.cells[place[0]]) for place in places)
        if not (correct and total and share) or correct.decimals or total.decimals or correct.is_percent or total.is_percent:
            continue
        scale = 100 if share.is_percent or "%" in table.headers[places[2][0]] or abs(share.number) > 1 else 1
        if not is_share(share, int(correct.number), int(total.number), scale):
            message = f"{correct.text} correct of {total.text} is not {share.text}"
            yield CHECK.problem(Where(FILE, row.line), message, MEND)


def is_share(shown: Shown, part: int, whole: int, scale: int) -> bool:
    """True if part / whole rounds to what is shown. A part of nothing can't be told."""
    return whole == 0 or abs(shown.number - Decimal(scale * part) / whole) <= shown.half + Decimal("1e-9")


def total_problems(table: Table) -> Iterator[Problem]:
    """A last row named Total, over columns of counts."""
    if len(table.rows) < 3 or key(table.rows[-1].cells[0]) not in ("total", "sum", "totals"):
        return
    for column, header in enumerate(table.headers):
        shown = [figure_of(row.cells[column]) for row in table.rows]
        if key(header) not in SUMMED or any(s is None or s.decimals or s.is_percent for s in shown):
            continue
        *parts, total = (int(s.number) for s in shown if s)
        if sum(parts) != total:
            message = f'the rows under "{header[:40]}" add up to {sum(parts):,}, and the total says {total:,}'
            yield CHECK.problem(Where(FILE, table.rows[-1].line), message, MEND)


def number(text: str) -> int:
    return int(text.replace(",", ""))


CHECK = Check("HR616", "counts-mismatch", "counts that do not add up", run)
