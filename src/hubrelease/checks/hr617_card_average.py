"""An average, or a recovery in percent, of a table in the card is not what its own cells give.

Why it matters: it is the figure that people quote.
Mend: Compute it from the cells; say so in the heading where it is weighted, or taken over tasks that the table does not show.
Source: contract, section 3. A warning: what goes into an average can't be seen for certain (that of a benchmark with parts is
often weighted), so one is judged only if every cell beside it is a task of a receipt, or if it says that it is a plain mean. It fits
if it is the mean of any unbroken run of those cells, a recovery if it is either quotient of the two figures in its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from hubrelease.card_text import FILE, Row, Table
from hubrelease.checks import Check
from hubrelease.claim_words import Vocabulary, key, words
from hubrelease.errors import Problem, Where
from hubrelease.figures_shown import Shown, figure_of
from hubrelease.release import Release
from hubrelease.traced import vocabulary

AVERAGE = words("average avg mean averagescore avgscore meanscore overallaverage")
PLAIN = words("macroaverage macroavg unweightedaverage unweightedmean simpleaverage arithmeticmean macromean")
RECOVERY = re.compile(r"recovery(rate)?(percent|pct)?")
NOT_SCORES = re.compile(
    r"(?i)\b(n|shots?|n-shot|params?|parameters|size|gb|mb|gib|context|tokens?|latency|ms|speed|throughput|vram|memory|rank|year|date|samples"
    r"|questions|version|stderr|std|delta|diff|difference|gain|bits|bpw|recovery)\b|[#±]"
)
MEND = "compute it from the cells, or say in the heading what else goes into it"
MAX_CELLS = 200


def run(release: Release) -> Iterator[Problem]:
    if release.card is None:
        return
    known = vocabulary(release)
    for table in release.card.tables:
        yield from average_columns(table, known)
        yield from average_rows(table, known)
        yield from recoveries(table)


def is_average(text: str) -> bool:
    return key(text) in AVERAGE | PLAIN and not re.search(r"\d|[^n]weight", text)


def average_columns(table: Table, known: Vocabulary) -> Iterator[Problem]:
    scores = [n for n in range(1, len(table.headers)) if not NOT_SCORES.search(table.headers[n]) and not is_average(table.headers[n])]
    are_tasks = all(known.tasks_in(table.headers[n]) for n in scores)
    for column in (n for n, header in enumerate(table.headers) if is_average(header) and (are_tasks or key(header) in PLAIN)):
        for row in table.rows:
            shown = figure_of(row.cells[column])
            beside = figures([row.cells[n] for n in scores if n < column]) or figures([row.cells[n] for n in scores])
            if shown and len(beside) > 1 and not is_mean(shown, beside):
                yield problem(row.line, shown, f'of "{row.cells[0][:40]}"', beside)


def average_rows(table: Table, known: Vocabulary) -> Iterator[Problem]:
    above: list[Row] = []
    for row in table.rows:
        if not is_average(row.cells[0]):
            above.append(row)
            continue
        rows = [r for r in above[-MAX_CELLS:] if any(r.cells[1:])]
        if not (key(row.cells[0]) in PLAIN or all(known.tasks_in(r.cells[0]) for r in rows)):
            continue
        for column in range(1, len(table.headers)):
            shown, cells = figure_of(row.cells[column]), figures([r.cells[column] for r in rows])
            if shown and len(cells) > 1 and not NOT_SCORES.search(table.headers[column]) and not is_mean(shown, cells):
                yield problem(row.line, shown, f'under "{table.headers[column][:40]}"', cells)


def figures(cells: list[str]) -> list[Shown]:
    """The figures of cells that are not empty; [] where one of them is none."""
    found = [figure_of(cell) for cell in cells if cell]
    shown = [cell for cell in found if cell]
    return shown if len(shown) == len(found) else []


def is_mean(shown: Shown, cells: list[Shown]) -> bool:
    """True if `shown` can be the mean of all the cells, or of those from some point on, each off by its rounding."""
    total, spread = Decimal(0), Decimal(0)
    for count, cell in enumerate(reversed(cells), 1):
        total, spread = total + cell.number, spread + cell.half
        if count > 1 and abs(shown.number * count - total) <= spread + shown.half * count:
            return True
    return False


def problem(line: int, shown: Shown, place: str, cells: list[Shown]) -> Problem:
    mean = sum((cell.number for cell in cells), Decimal(0)) / len(cells)
    decimals = max(shown.decimals, 1)
    return CHECK.problem(
        Where(FILE, line), f"the average {place} is shown as {shown.text}; its cells give {mean:.{decimals}f}", MEND, "warning"
    )


def recoveries(table: Table) -> Iterator[Problem]:
    """A column of recoveries beside exactly two columns of scores."""
    columns = [n for n, header in enumerate(table.headers) if RECOVERY.fullmatch(key(header))]
    scores = [n for n, header in enumerate(table.headers) if n and n not in columns and not NOT_SCORES.search(header)]
    for row in table.rows if len(columns) == 1 else ():
        shown = figure_of(row.cells[columns[0]])
        cells = [cell for n in scores if (cell := figure_of(row.cells[n]))]
        if (
            shown and len(cells) == 2 and not (is_quotient(shown, *cells) or is_quotient(shown, *cells[::-1]) or is_average(row.cells[0]))
        ):  # of averages, or the average of the quotients
            first, second = cells
            message = f'the recovery of "{row.cells[0][:40]}" is shown as {shown.text}, beside {first.text} and {second.text}'
            yield CHECK.problem(Where(FILE, row.line), message, MEND, "warning")


def is_quotient(shown: Shown, part: Shown, whole: Shown) -> bool:
    """True if shown is part / whole, as a fraction or in percent, each off by its rounding."""
    low, high = whole.number - whole.half, whole.number + whole.half
    if low <= 0:
        return True
    least, most = (part.number - part.half) / high, (part.number + part.half) / low
    return any(least * scale - shown.half <= shown.number <= most * scale + shown.half for scale in (1, 100))


CHECK = Check("HR617", "card-average", "average that its cells do not give", run)
