"""Rules across the keys of release.yaml's `card` that its schema can't say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hubrelease.errors import Problem, Where, problem
from hubrelease.strict_yaml import pointer_to

Locate = Callable[[str], Where]
BODIES = ("rows", "compare", "each", "decisions")
SOURCES = ("receipt", "payload", "lock", "spec", "figure", "compute")


def card_problems(value: Mapping[str, Any], locate: Locate) -> Iterator[Problem]:
    from hubrelease.plots.rules import plot_problems

    card = value.get("card", {})
    yield from locale_problems(card, locate)
    yield from plot_problems(card.get("plots", ()), locate)
    for name, figure in card.get("figures", {}).items():
        yield from figure_problems(figure, pointer_to("card", "figures", name), locate, SOURCES)
    for number, table in enumerate(card.get("tables", ())):
        yield from table_problems(table, f"/card/tables/{number}", locate)
    for number, asked in enumerate(card.get("eval_results", ())):
        yield from figure_problems(asked["figure"], f"/card/eval_results/{number}/figure", locate, SOURCES)


def locale_problems(card: Mapping[str, Any], locate: Locate) -> Iterator[Problem]:
    """Languages without a catalogue, and what needs several where there is one."""
    from hubrelease.phrases import known

    for number, locale in enumerate(card.get("locales", ())):
        if locale not in known():
            message = f"a card in {locale} is not supported by this version"
            yield problem("not-supported", locate(f"/card/locales/{number}"), message, f"choose among {', '.join(known())}")
        elif locale in card["locales"][:number]:
            yield problem("spec-invalid", locate(f"/card/locales/{number}"), f"{locale} stands twice", "remove one")
    if "locales_in" in card and len(card.get("locales", ())) < 2:
        yield problem("spec-invalid", locate("/card/locales_in"), "has no effect with one language", "remove it, or add to `locales`")


def table_problems(table: Mapping[str, Any], at: str, locate: Locate) -> Iterator[Problem]:
    bodies = [key for key in BODIES if key in table]
    if len(bodies) != 1:
        message = f"the table has {' and '.join(bodies) or 'no rows'}"
        yield problem("spec-invalid", locate(at), message, f"give exactly one of {', '.join(BODIES)}")
    if "decisions" in table and "columns" in table:
        yield problem("spec-invalid", locate(f"{at}/columns"), "has no effect with `decisions`", "remove it")
    if "columns" not in table and "compare" not in table and "decisions" not in table:
        yield problem("spec-invalid", locate(at), '"columns" is missing', "name the table's columns")
    if "title" not in table and "decisions" not in table:
        yield problem("spec-invalid", locate(at), '"title" is missing', "say what the table shows")
    for number, row in enumerate(table.get("rows", ())):
        for n, cell in enumerate(row):
            yield from cell_problems(cell, f"{at}/rows/{number}/{n}", locate, SOURCES)
    for n, cell in enumerate(table.get("each", {}).get("cells", ())):
        yield from cell_problems(cell, f"{at}/each/cells/{n}", locate, (*SOURCES, "key", "pointer", "task"))
    if "each" in table:
        yield from one_of(table["each"], ("receipt", "receipts"), f"{at}/each", locate)
    for number, column in enumerate(table.get("compare", {}).get("columns", ())):
        yield from one_of(column, ("receipt", "receipts"), f"{at}/compare/columns/{number}", locate)


def cell_problems(cell: Any, at: str, locate: Locate, sources: tuple[str, ...]) -> Iterator[Problem]:
    if isinstance(cell, list):
        for number, part in enumerate(cell):
            yield from cell_problems(part, f"{at}/{number}", locate, sources)
    elif isinstance(cell, Mapping) and "words" in cell:
        if len(cell) > 1:
            yield problem("spec-invalid", locate(at), '"words" stand alone', "make a list of both for a cell of words and figures")
    elif isinstance(cell, Mapping):
        yield from figure_problems(cell, at, locate, sources)


def figure_problems(figure: Mapping[str, Any], at: str, locate: Locate, sources: tuple[str, ...]) -> Iterator[Problem]:
    """A figure comes from one place, by a pointer or a task; only a computed one has operands."""
    given = [key for key in SOURCES if key in figure]
    if len(given) > 1 or not any(key in figure for key in sources):
        said = " and ".join(given) or "no source"
        yield problem("spec-invalid", locate(at), f"the figure has {said}", f"give exactly one of {', '.join(SOURCES)}")
        return
    if isinstance(published := figure.get("published"), Mapping):
        yield from figure_problems(published, f"{at}/published", locate, sources)
    kind = given[0] if given else "receipt"
    if kind == "compute":
        yield from computed_problems(figure, at, locate, sources)
        return
    for key in ("of", "rounded"):
        if key in figure:
            yield problem("spec-invalid", locate(at), f'"{key}" is for figures with `compute`', "remove it")
    if kind == "figure" or "key" in figure:
        return
    if ("pointer" in figure) == ("task" in figure) or ("task" in figure and kind != "receipt"):
        message = (
            "a figure of a receipt is found by a pointer or a task"
            if kind == "receipt"
            else f"a figure of the {kind} is found by a pointer"
        )
        yield problem("spec-invalid", locate(at), message, "give one")


def computed_problems(figure: Mapping[str, Any], at: str, locate: Locate, sources: tuple[str, ...]) -> Iterator[Problem]:
    if "of" not in figure:
        yield problem("spec-invalid", locate(at), "`compute` without the figures that it takes", "list them under `of`")
    for key in ("pointer", "task", "metric", "filter", "from"):
        if key in figure:
            yield problem("spec-invalid", locate(at), f'"{key}" is for a figure that is found, not computed', "put it under `of`")
    for number, operand in enumerate(figure.get("of", ())):
        if isinstance(operand, Mapping):
            yield from figure_problems(operand, f"{at}/of/{number}", locate, sources)


def one_of(value: Mapping[str, Any], keys: tuple[str, str], at: str, locate: Locate) -> Iterator[Problem]:
    if sum(key in value for key in keys) != 1:
        yield problem("spec-invalid", locate(at), f"needs one of {' and '.join(keys)}", "give exactly one")
