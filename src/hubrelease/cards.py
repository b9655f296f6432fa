"""facts + templates → README.md. A pure function: the same facts and templates give the same bytes.

Jinja2 runs sandboxed and strict: a name that nothing defines is an error with the template's line. Figures are
resolved before the template sees them, so that a template can place a figure but not make one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hubrelease import beside, disclosure, resources
from hubrelease.errors import CheckFailed, Problem, ReleaseError, Where, problem
from hubrelease.facts import Facts, Figure
from hubrelease.lock import LockedSource
from hubrelease.spec import Omission

if TYPE_CHECKING:
    import jinja2

DEFAULT = "card.md.j2"


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell: words or a figure, as `shown`."""

    shown: str
    figure: Figure | None = None


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    note: str | None
    measured_by: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A line of the provenance table."""

    name: str
    uri: str
    revision: str
    license: str
    note: str


def render(facts: Facts, report: Mapping[str, Any] | None = None) -> str:
    """The card. `report` is the release's validation report. Raises CheckFailed with every figure or template problem."""
    tables = build_tables(facts)
    environment, name = environment_for(facts)
    blocks = TextBlocks(facts.spec.card.get("text", {}))
    context = {
        "spec": disclosure.document(facts.spec, facts.lock),
        "card": facts.spec.card,
        "front_matter": front_matter(facts),
        "tables": tables,
        "sources": [source_row(facts, s) for s in facts.lock.sources],
        "omissions": omissions(facts),
        "payload": facts.payload and facts.payload.facts,
        "payload_digest": facts.payload and facts.payload.digest,
        "report": report,
        "text": blocks,
        "title": facts.spec.card.get("title") or facts.spec.name.split("/")[-1],
        "license_reason": facts.spec.text("license_reason"),
    }
    text = run_template(environment, name, context)
    if unused := sorted(set(blocks) - blocks.used):
        mend = f"blocks that the template places: {', '.join(sorted(blocks.used)) or 'none'}"
        raise CheckFailed(
            [
                problem(
                    "template-fault",
                    facts.spec.where(f"/card/text/{key}"),
                    f'the template has no place for the text "{key}"',
                    mend,
                )
                for key in unused
            ]
        )
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


class TextBlocks(dict[str, str]):
    """Free text by name; remembers which names the template asked for, so that no text is lost without a word."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self.used: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.used.add(key)
        return super().__getitem__(key)


def omissions(facts: Facts) -> tuple[Omission, ...]:
    return facts.spec.side_files.omit if facts.spec.side_files else ()


def build_tables(facts: Facts) -> list[Table]:
    problems: list[Problem] = []
    tables = []
    for number, asked in enumerate(facts.spec.card.get("tables", ())):
        at = f"/card/tables/{number}"
        rows = [tuple(cells(facts, row, f"{at}/rows/{i}", problems)) for i, row in enumerate(asked["rows"])]
        for i, row in enumerate(rows):
            if len(row) != len(asked["columns"]):
                where = facts.spec.where(f"{at}/rows/{i}")
                problems.append(
                    problem(
                        "figure-fault",
                        where,
                        f"the row has {len(row)} cells, the table {len(asked['columns'])} columns",
                        "add or remove cells",
                    )
                )
        tables.append(
            Table(
                asked["title"],
                asked.get("note"),
                asked.get("measured_by", "publisher"),
                tuple(asked["columns"]),
                tuple(rows),
            )
        )
    if problems:
        raise CheckFailed(problems)
    return tables


def cells(facts: Facts, row: list[Any], pointer: str, problems: list[Problem]) -> Iterator[Cell]:
    for number, asked in enumerate(row):
        if isinstance(asked, str):
            yield Cell(asked)
            continue
        try:
            figure = facts.figure(asked, facts.spec.where(f"{pointer}/{number}"))
            yield Cell(figure.shown + (" (stated)" if figure.stated else ""), figure)
        except ReleaseError as error:
            problems += error.problems
            yield Cell("")


def source_row(facts: Facts, locked: LockedSource) -> SourceRow:
    source = facts.spec.source(locked.name)
    uri = disclosure.uri(facts.spec, facts.lock, locked)
    return SourceRow(locked.name, uri, locked.revision, locked.license or "", (source.note if source else None) or "")


def front_matter(facts: Facts) -> str:
    """The YAML block of the card, without its fences (hub-docs modelcard.md)."""
    import yaml

    spec, card = facts.spec, facts.spec.card
    values: dict[str, Any] = {"license": spec.license}
    values |= {key: spec.document[key] for key in ("license_name", "license_link") if key in spec.document}
    values |= {
        key: card[key] for key in ("language", "tags", "datasets", "metrics", "pipeline_tag", "library_name", "thumbnail") if key in card
    }
    values |= {
        key: base for key, base in (("base_model", base_model(facts)), ("base_model_relation", card.get("base_model_relation"))) if base
    }
    text: str = yaml.safe_dump(values, sort_keys=True, allow_unicode=True, width=10**6, default_flow_style=False)
    return text


def base_model(facts: Facts) -> str | list[str] | None:
    if stated := facts.spec.card.get("base_model"):
        found: str | list[str] = stated
        return found
    base = facts.spec.source("base_model")
    is_named = base and base.kind == "hf" and base.name not in disclosure.hidden(facts.spec, facts.lock)
    return base.locator if base and is_named else None


# ----------------------------------------------------------------------------------------------------------- templates


def environment_for(facts: Facts) -> tuple[jinja2.Environment, str]:
    """The environment and the name of the template to start from: the spec's own, which may extend card.md.j2."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    own = facts.spec.card.get("template")
    texts = {p.name: p.read_text("utf-8") for p in sorted(resources.folder("templates").glob("*.j2"))}
    name = DEFAULT
    if own:
        name = own
        texts[own] = decoded(own, beside.read(facts.spec, own, "/card/template"))
    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.DictLoader(texts),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["md"] = escape_markdown
    environment.filters["bytes"] = byte_size
    environment.filters["thousands"] = lambda n: f"{n:,}"
    return environment, name


def decoded(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise CheckFailed(problem("template-fault", name, "is not UTF-8", "save it as UTF-8")) from None


def byte_size(number: int) -> str:
    from decimal import Decimal

    from hubrelease.facts import byte_text

    return byte_text(Decimal(number))


def escape_markdown(value: object) -> str:
    """Foreign text inside a table or a sentence: one line, no markup, no HTML, no template syntax."""
    line = re.sub(r"\s+", " ", str(value)).strip()
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|{}#!~])", r"\\\1", line)


def run_template(environment: jinja2.Environment, name: str, context: dict[str, Any]) -> str:
    import jinja2

    mend = "correct the template; see docs/templates.md for the names it can use"
    try:
        return environment.get_template(name).render(context)
    except jinja2.TemplateSyntaxError as error:
        raise CheckFailed(problem("template-fault", Where(error.name or name, error.lineno), str(error.message), mend)) from None
    except jinja2.TemplateNotFound as error:
        raise CheckFailed(problem("template-fault", Where(name), f"names the template {error.name!r}, which is not there", mend)) from None
    except (
        jinja2.TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise CheckFailed(problem("template-fault", where_in_template(error, name, environment), str(error)[:300], mend)) from None


def where_in_template(error: BaseException, name: str, environment: jinja2.Environment) -> Where:
    """The template's own line, which Jinja2 puts into the traceback."""
    line, file, trace = None, name, error.__traceback__
    known = set(environment.list_templates())
    while trace:
        code = trace.tb_frame.f_code.co_filename
        if trace.tb_frame.f_globals.get("__jinja_template__") is not None or code in known or code == "<template>":
            file, line = (code if code in known else name), trace.tb_lineno
        trace = trace.tb_next
    return Where(file, line)
