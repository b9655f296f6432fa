"""facts + templates → README.md. A pure function: the same facts and templates give the same bytes.

Figures are resolved before the template sees them, so that a template can place a figure but not make one. Foreign text
is escaped where the template places it; the publisher's own Markdown (summary, notes, texts) stands as it is, but may not
swallow what follows it. How templates are run is templating.py's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease import beside, disclosure, resources
from hubrelease.errors import CheckFailed, Problem, ReleaseError, Where, problem
from hubrelease.facts import Facts, Figure
from hubrelease.lock import LockedSource
from hubrelease.markdown import FILTERS, left_open
from hubrelease.spec import Omission, Spec
from hubrelease.strict_yaml import UNFIT

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
    """The card. `report` is the release's validation report. Raises CheckFailed with every figure and template problem."""
    from hubrelease import templating

    problems = list(markdown_problems(facts.spec))
    blocks = TextBlocks(facts.spec.card.get("text", {}))
    context = {
        "spec": disclosure.document(facts.spec, facts.lock),
        "card": facts.spec.card,
        "front_matter": front_matter(facts),
        "tables": build_tables(facts, problems),
        "sources": [source_row(facts, s) for s in facts.lock.sources],
        "omissions": omissions(facts),
        "receipts": facts.spec.receipts,
        "payload": facts.payload.facts if facts.payload else templating.Unbuilt(),
        "payload_digest": facts.payload and facts.payload.digest,
        "report": report,
        "text": blocks,
        "title": facts.spec.card.get("title") or facts.spec.name.split("/")[-1],
        "license_reason": facts.spec.text("license_reason"),
    }
    text = ""
    try:
        texts, name = templates(facts.spec)
        text = templating.run(texts, name, FILTERS, context)
        problems += unplaced(facts.spec, blocks)
    except CheckFailed as error:
        problems += error.problems
    card = re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
    problems += control_characters(card, facts.spec)
    if problems:
        raise CheckFailed(problems)
    return card


class TextBlocks:
    """Free text by name; remembers which names the template asked for, so that no text is lost without a word."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts, self._asked = texts, set[str]()

    def __getitem__(self, key: str) -> str:
        self._asked.add(key)
        return self._texts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def unplaced(self) -> list[str]:
        return sorted(set(self._texts) - self._asked)


def unplaced(spec: Spec, blocks: TextBlocks) -> Iterator[Problem]:
    for key in blocks.unplaced():
        mend = "correct the name, or give the template a place for it: {{ text." + key + " }}"
        yield problem("template-fault", spec.where(f"/card/text/{key}"), f'the template has no place for the text "{key}"', mend)


def control_characters(card: str, spec: Spec) -> Iterator[Problem]:
    """A card can be shown in any terminal. Only a template of one's own that places foreign text unescaped gets here."""
    if unfit := UNFIT.search(card) or re.search("\r", card):
        line = card.count("\n", 0, unfit.start()) + 1
        message = f"would hold the control character U+{ord(unfit[0]):04X} on line {line}"
        yield problem("template-fault", Where(spec.card.get("template", DEFAULT)), message, "put foreign text through the filter md")


def markdown_problems(spec: Spec) -> Iterator[Problem]:
    """Texts of release.yaml that open a code block, a comment or an element and leave it open: the rest would vanish in it."""
    notes = [(f"/sources/{s.name}/note", s.note) for s in spec.sources]
    notes += [(f"/benchmarks/{i}/note", r.note) for i, r in enumerate(spec.receipts)]
    notes += [(f"/card/tables/{i}/note", table.get("note")) for i, table in enumerate(spec.card.get("tables", ()))]
    texts = [(f"/card/text/{key}", text) for key, text in spec.card.get("text", {}).items()]
    for pointer, text in [("/card/summary", spec.card.get("summary")), *notes, *texts]:
        if text and (opened := left_open(text)):
            yield problem("spec-invalid", spec.where(pointer), f"the text leaves {opened} open, which would swallow the rest of the card",
                          "close it, or write it as code between backticks")  # fmt: skip


def omissions(facts: Facts) -> tuple[Omission, ...]:
    return facts.spec.side_files.omit if facts.spec.side_files else ()


def build_tables(facts: Facts, problems: list[Problem]) -> list[Table]:
    """The tables; what is wrong with them is added to `problems`."""
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
    return tables


UNITS = r"%|pp|points?|ms|s|x|×|W|FPS|[kMGT]?i?B(/s)?|tok(ens)?/s"
TYPED = re.compile(rf"[-+−±~≈<>≤≥]?\s*[0-9][0-9,_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*({UNITS})?")


def cells(facts: Facts, row: list[Any], pointer: str, problems: list[Problem]) -> Iterator[Cell]:
    for number, asked in enumerate(row):
        where = facts.spec.where(f"{pointer}/{number}")
        if isinstance(asked, str):
            if number and TYPED.fullmatch(asked.strip()):  # the first column holds labels
                mend = "name its receipt, or state it: {spec: true, pointer: …}"
                problems.append(problem("figure-fault", where, f'"{asked}" is a figure typed by hand, without a source', mend))
            yield Cell(asked)
            continue
        try:
            figure = facts.figure(asked, where)
            yield Cell(figure.shown + (" (stated)" if figure.stated else ""), figure)
        except ReleaseError as error:
            problems += error.problems
            yield Cell("")


def source_row(facts: Facts, locked: LockedSource) -> SourceRow:
    source = facts.spec.source(locked.name)
    uri = disclosure.uri(facts.spec, facts.lock, locked)
    return SourceRow(locked.name, uri, locked.revision, locked.license or "", (source.note if source else None) or "")


FRONT_KEYS = ("language", "tags", "datasets", "metrics", "pipeline_tag", "library_name", "thumbnail")


def front_matter(facts: Facts) -> str:
    """The YAML block of the card, without its fences (hub-docs modelcard.md)."""
    spec, card = facts.spec, facts.spec.card
    values: dict[str, Any] = {"license": spec.license}
    values |= {key: spec.document[key] for key in ("license_name", "license_link") if key in spec.document}
    values |= {key: card[key] for key in FRONT_KEYS if key in card}
    named = (("base_model", base_model(facts)), ("base_model_relation", card.get("base_model_relation")))
    return yaml_text(values | {key: value for key, value in named if value})


def yaml_text(values: Mapping[str, Any]) -> str:
    """YAML that 1.1 and 1.2 readers take for the same: PyYAML would write the text 1e5 plain, a number for the Hub's reader."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    number = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9]*)?[eE][-+]?[0-9]+|0o[0-7]+")
    Dumper.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    text: str = yaml.dump(values, Dumper=Dumper, sort_keys=True, allow_unicode=True, width=10**6, default_flow_style=False)
    return text


def base_model(facts: Facts) -> str | list[str] | None:
    if stated := facts.spec.card.get("base_model"):
        found: str | list[str] = stated
        return found
    base = facts.spec.source("base_model")
    is_named = base and base.kind == "hf" and base.name not in disclosure.hidden(facts.spec, facts.lock)
    return base.locator if base and is_named else None


def templates(spec: Spec) -> tuple[dict[str, str], str]:
    """Every template by name, and the one to start from: the spec's own, which may extend card.md.j2."""
    texts = {p.name: p.read_text("utf-8") for p in sorted(resources.folder("templates").glob("*.j2"))}
    own = spec.card.get("template")
    if own is None:
        return texts, DEFAULT
    if own in texts:
        message = f'"{own}" is the name of a template that comes with hubrelease, and could not extend it'
        raise CheckFailed(problem("template-fault", spec.where("/card/template"), message, "give your template another name"))
    data = beside.read(spec, own, "/card/template")
    try:
        return {**texts, own: data.decode("utf-8")}, own
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CheckFailed(problem("template-fault", Where(own, line), "is not UTF-8", "save it as UTF-8")) from None
