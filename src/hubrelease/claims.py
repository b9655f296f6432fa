"""Which cells of a card's tables claim what of which task: headings and row labels held against the names in evaluations.

Conservative by design: a card shows other models' numbers, hyper-parameters and hardware too. A cell is a claim only if its
row or column names a task of an evaluation, and its column (or row) is one of values: "Value", a metric, a filter, this
release by name. A row, a column or a section that names anything else claims nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hubrelease.card_text import Row, Table
from hubrelease.claim_words import VALUE, Vocabulary, asides, key, shots_in, whole_key, words
from hubrelease.evaluations import Evaluation, Metric
from hubrelease.figures_shown import Shown, figure_of

NOT_OURS = re.compile(
    r"(?i)not measured on the files of this release|upstream('s)? (own|figures|results|scores|numbers)|(from|by|of) upstream"
    r"|as reported|reported (by|in)|official(ly)? (results|scores|reported)|original (model|card|results|scores)"
    r"|base model'?s? (results|scores|card)|baseline results"
)
STDERR = words("stderr stderror standarderror se std error")
SHOT_COLUMNS = words("nshot nshots shots shot fewshot numfewshot numshots")
METRIC_COLUMNS = words("metric metrics measure")
REMARKS = METRIC_COLUMNS | words(  # columns whose words say nothing of what was run
    "filter task tasks benchmark benchmarks dataset datasets eval evaluation test category domain capability area skill type"
    " description note notes comment unit direction"
)
LABELS = VALUE | {"", "metric", "all", "overall", "test"}
BLANKS = words("na none null nan notavailable notapplicable") | {""}
UNKNOWN = "?"  # a metric that no evaluation has


class Context(NamedTuple):
    """What a heading or a label says of its cells. None: nothing; `model` None: this release."""

    tasks: frozenset[str] | None = None
    metric: str | None = None
    filter: str | None = None
    shots: int | None = None
    model: str | None = None

    def with_rest_of(self, other: Context) -> Context:
        """What this says, and for the rest what `other` says."""
        return Context(
            self.tasks if self.tasks is not None else other.tasks,
            self.metric if self.metric is not None else other.metric,
            self.filter if self.filter is not None else other.filter,
            self.shots if self.shots is not None else other.shots,
            self.model if self.model is not None else other.model,
        )


class Column(NamedTuple):
    """`role`: value, stderr, or "" for what claims nothing."""

    role: str
    context: Context = Context()


class Value(NamedTuple):
    """A finite number of an evaluation."""

    evaluation: Evaluation
    metric: Metric
    number: float


@dataclass(frozen=True)
class Claim:
    """A cell that shows a figure of a task. `is_error` says that it is a standard error."""

    shown: Shown
    line: int
    context: Context
    is_error: bool
    header: str
    table: int  # the line that its table begins on


def claims_of(table: Table, known: Vocabulary) -> Iterator[Claim]:
    """The claims of a table; none where it says that its figures are somebody else's."""
    if NOT_OURS.search(" ".join((*table.headings, table.lead))) or names_another(table, known):
        return
    columns = [column_of(header, known) for header in table.headers]
    label = ""
    for row in table.rows:
        label = row.cells[0] or label  # lm_eval's own table leaves the cell empty where the task is the one above
        context = row_context(row, label, table, known)
        if context is not None:
            yield from row_claims(row, context, table, columns, known)


def names_another(table: Table, known: Vocabulary) -> bool:
    """True if a heading below the title names another model and not this one."""
    names = [whole_key(heading) for heading in table.headings[1:]]
    return any(any(other in name for other in known.foreign) and not any(own in name for own in known.own) for name in names)


def column_of(header: str, known: Vocabulary) -> Column:
    form, chosen = key(header), known.filter_in(header)
    metric, said = known.metric_of(header), Context(filter=chosen, shots=shots_in(header))
    if form in STDERR:
        return Column("stderr")
    if known.is_own(header):
        return Column("value", said._replace(metric=metric))
    if tasks := known.tasks_in(header):
        return Column("value", said._replace(tasks=tasks, metric=metric or known.metric_behind(header)))
    if form in known.others:
        return Column("value", said._replace(model=known.others[form]))
    is_value = metric is not None or form in known.filters or form in VALUE
    return Column("value", said._replace(metric=metric)) if is_value and known.understands(asides(header)) else Column("")


def row_context(row: Row, label: str, table: Table, known: Vocabulary) -> Context | None:
    """What a row's words say; None where they name more than one task, or something that is not understood."""
    found = Context()
    for header, cell in zip(map(key, table.headers), (label, *row.cells[1:]), strict=False):
        if header in SHOT_COLUMNS and cell.isdecimal():
            found = found._replace(shots=int(cell[:4]))
        if figure_of(cell) is not None or whole_key(cell) in BLANKS:
            continue
        said = cell_context(cell, header, known)
        if said is None or (said.tasks and found.tasks and said.tasks != found.tasks):
            return None
        found = found.with_rest_of(said)
    return found


def cell_context(cell: str, header: str, known: Vocabulary) -> Context | None:
    """What the words of one cell say; None where they are not understood and stand where they can matter."""
    tasks, form = known.tasks_in(cell), key(cell)
    metric = known.metric_of(cell) or (known.metric_behind(cell) if tasks else None)
    said = Context(tasks, metric, known.filter_in(cell), shots_in(cell), known.others.get(form))
    if any(part is not None for part in said):
        return said
    if header in METRIC_COLUMNS and form not in VALUE:
        return said._replace(metric=UNKNOWN)
    return said if known.is_own(cell) or form in LABELS or header in REMARKS else None


def row_claims(row: Row, context: Context, table: Table, columns: list[Column], known: Vocabulary) -> Iterator[Claim]:
    for number, (cell, column) in enumerate(zip(row.cells, columns, strict=False)):
        shown = figure_of(cell) if column.role else None
        if shown is None or contradicts(column.context, context):
            continue
        if context.tasks is None and (column.context.tasks is None or not is_label(row.cells[0], number, table, known)):
            continue
        yield Claim(shown, row.line, column.context.with_rest_of(context), column.role == "stderr", table.headers[number], table.line)


def contradicts(first: Context, second: Context) -> bool:
    """True if heading and label both name a task, or two metrics, filters, numbers of shots or models."""
    is_twice = first.tasks is not None and second.tasks is not None
    return is_twice or any(a is not None and b is not None and a != b for a, b in list(zip(first, second, strict=True))[1:])


def is_label(text: str, column: int, table: Table, known: Vocabulary) -> bool:
    """True if a row without a task can be this release's: its label names it, a metric, a filter or no model at all."""
    if column == 0:
        return len(table.rows) == 1
    form = key(text)
    is_word = form in LABELS or form in known.filters or known.metric_of(text) is not None
    return is_word or known.is_own(text) or form in known.others


# ----------------------------------------------------------------------------------------------------------- candidates


class Measured:
    """Some evaluations, their values found by task."""

    def __init__(self, evaluations: Iterable[Evaluation]) -> None:
        self.evaluations = tuple(evaluations)
        self.by_task: dict[str, list[Value]] = {}
        for evaluation in self.evaluations:
            for metric in evaluation.metrics:
                if metric.value is not None:
                    self.by_task.setdefault(metric.task, []).append(Value(evaluation, metric, metric.value))

    def candidates(self, claim: Context) -> list[Value]:
        """The values that a claim can mean. Empty where there are none of that metric, filter or number of shots."""
        found = [value for task in sorted(claim.tasks or ()) for value in self.by_task.get(task, ())]
        if claim.metric is not None:
            found = [value for value in found if value.metric.metric == claim.metric]
        if claim.filter is not None:
            found = [value for value in found if value.metric.filter == claim.filter]
        if claim.shots is not None:
            found = [value for value in found if value.metric.shots in (None, claim.shots)]
        return found
