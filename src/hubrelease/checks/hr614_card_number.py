"""A figure of the card (a table's cell, model-index), of another page or of .eval_results/ is not what the receipt holds.

Why it matters: readers choose models by these figures; one that was typed, rounded wrongly or taken from another run is false.
Mend: Write the receipt's value, or let the card be rendered from the receipts.
Source: verl-project/uni-agent issue 147. Only figures that name a task of a receipt are traced; the percentage of a fraction is
the same figure. Where no receipt has it, a table is held against the card's own model-index. Where another table of the same page
has the receipt's figure, it is a warning: the two can be of different settings, with a receipt of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.claim_words import Vocabulary, whole_key
from hubrelease.claims import Claim, Context, Measured, Value, claims_of
from hubrelease.errors import Problem, Where
from hubrelease.figures_shown import figure_of, fits
from hubrelease.release import Release
from hubrelease.spec_tables import Expected, expected_cells
from hubrelease.stated_results import Stated, as_evaluation, of_model_index, of_result_files
from hubrelease.traced import own_evaluations, vocabulary

MEND = "write the receipt's value, or render the card from the receipts"


def run(release: Release) -> Iterator[Problem]:
    known, own = vocabulary(release), Measured(own_evaluations(release))
    cells = list(expected_cells(release))
    asked = list(spec_problems(cells))
    yield from asked
    yield from table_problems(release, known, own, {p.where.line for p in asked} | {cell.line for cell in cells if cell.published})
    indexed = list(of_model_index(release))
    for stated in (*indexed, *of_result_files(release)):
        yield from stated_problems(stated, own, known)
    yield from index_problems(release, [s for s in indexed if not own.candidates(s.context(known))], known)


def spec_problems(cells: Iterable[Expected]) -> Iterator[Problem]:
    """Cells that release.yaml itself traces to a receipt."""
    for cell in cells:
        if whole_key(cell.shown) != whole_key(cell.wanted) or figure_of(cell.shown) != figure_of(cell.wanted):
            gives = f"{cell.file[:100]} gives {cell.wanted[:60]} at {cell.pointer[:150]}"
            message = f'"{cell.shown[:60]}" is shown under "{cell.header[:40]}"; {gives}'
            yield CHECK.problem(Where(FILE, cell.line), message, MEND)


def table_problems(release: Release, known: Vocabulary, own: Measured, said: set[int | None]) -> Iterator[Problem]:
    models = {model: Measured(e for e in known.evaluations if e.model == model) for model in set(known.others.values())}
    right: dict[tuple[str, Context], set[int]] = {}  # tables that show a receipt's figure
    wrong: list[tuple[str, Claim, Value]] = []
    for file, claim in claims_in(release, known) if known.tasks else ():
        measured = own if claim.context.model is None else models[claim.context.model]
        found = measured.candidates(claim.context) if file != FILE or claim.line not in said else []
        if any(agrees(claim, value) for value in found):
            right.setdefault((file, claim.context), set()).add(claim.table)
        elif found:
            wrong.append((file, claim, found[0]))
    for file, claim, value in wrong:
        is_elsewhere = bool(right.get((file, claim.context), set()) - {claim.table})
        yield CHECK.problem(Where(file, claim.line), message_for(claim, value), MEND, "warning" if is_elsewhere else "error")


def claims_in(release: Release, known: Vocabulary) -> Iterator[tuple[str, Claim]]:
    """(file, claim) of the card's tables and of those on other pages."""
    return ((file, claim) for file, page in release.pages.items() for table in page.tables for claim in claims_of(table, known))


def agrees(claim: Claim, value: Value) -> bool:
    if not claim.is_error:
        return fits(claim.shown, value.number)
    return value.metric.stderr is None or fits(claim.shown, value.metric.stderr)


def message_for(claim: Claim, value: Value) -> str:
    metric = value.metric
    what = f"{'the standard error of ' if claim.is_error else ''}{metric.task[:60]} {metric.name[:60]}"
    number, pointer = (metric.stderr, metric.stderr_pointer) if claim.is_error else (value.number, metric.pointer)
    return f'{what} is shown as {claim.shown.text} under "{claim.header[:40]}"; {value.evaluation.file} has {number!r} at {pointer}'


def stated_problems(stated: Stated, own: Measured, known: Vocabulary) -> Iterator[Problem]:
    """A result in YAML: it has no word for the filter, so any filter's value will do."""
    found = own.candidates(stated.context(known))
    if found and not any(fits(stated.shown, value.number) for value in found):
        metric = found[0].metric
        said = f"{metric.task[:60]} {metric.metric[:60]} is given as {stated.shown.text}"
        message = f"{said}; {found[0].evaluation.file} has {found[0].number!r} at {metric.pointer}"
        yield CHECK.problem(Where(stated.file, stated.line, stated.pointer), message, MEND)


def index_problems(release: Release, indexed: list[Stated], known: Vocabulary) -> Iterator[Problem]:
    """Tables against model-index, for what no receipt has. One cell that agrees will do: the others can be other filters."""
    stated = Measured(as_evaluation(s) for s in indexed)
    words = Vocabulary(stated.evaluations, known.own, {}, known.foreign)
    claims: dict[tuple[object, object], list[tuple[str, Claim]]] = {}
    for file, claim in claims_in(release, words) if words.tasks else ():
        if claim.context.metric is not None and not claim.is_error:
            claims.setdefault((claim.context.tasks, claim.context.metric), []).append((file, claim))
    for rows in claims.values():
        (file, claim), found = rows[0], stated.candidates(rows[0][1].context._replace(filter=None, shots=None))
        if found and not any(fits(c.shown, value.number) or fits_less_exactly(c, value) for _, c in rows for value in found):
            said = f"{found[0].metric.alias[:60]} {found[0].metric.metric[:60]} is shown as {claim.shown.text}"
            message = f"{said}, and model-index says {found[0].metric.text}"
            yield CHECK.problem(Where(file, claim.line), message, "give the same figure in both places")


def fits_less_exactly(claim: Claim, value: Value) -> bool:
    """True if model-index has the table's figure with fewer decimals."""
    shown = figure_of(value.metric.text)
    return shown is not None and fits(shown, float(claim.shown.number))


CHECK = Check("HR614", "card-number", "figure that differs from its receipt", run)
