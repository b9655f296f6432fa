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

from hubrelease import beside, card_results, disclosure, free_text, resources, tables, typed_figures
from hubrelease.card_front import front_matter
from hubrelease.card_words import Words
from hubrelease.errors import CheckFailed, Problem, Where, problem
from hubrelease.facts import Facts
from hubrelease.hub_lists import nearest
from hubrelease.manifest import REPORT
from hubrelease.markdown import FILTERS, left_open
from hubrelease.phrases import Say, locales_of
from hubrelease.pieces import BrokenMarks, Marker, Pieces, Placed, placed, traced
from hubrelease.plots import alt_text, plots_of
from hubrelease.published import published_problems
from hubrelease.spec import Omission, Source, Spec
from hubrelease.strict_yaml import UNFIT

DEFAULT = "card.md.j2"
CARD = "README.md"
MAX_FOOTNOTES = 8  # of one receipt
PACKED = ("fp8_dynamic", "nvfp4a16", "nvfp4", "w8a16", "w4a16")  # formats in compressed-tensors' layout
RUNNERS = {"sm120": "container", "verify": "verify", "vllm": "vllm", "truss": "truss", "transformers": "transformers"}
SCHEMES = {"hf": "hf://", "git": "git+", "folder": "file:", "pypi": "pkg:pypi/", "image": "oci://"}
SERVED = ("text-generation", "image-text-to-text")  # tasks of vLLM's chat server


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A line of the provenance table."""

    name: str
    uri: str
    revision: str
    license: str
    note: str


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """A receipt as the card lists it. `footnotes` say of each run in it how it was made; `is_named`: one says that it is of `of`."""

    to: str
    of: str | None
    note: str | None
    footnotes: tuple[str, ...]
    is_named: bool = False


@dataclass(frozen=True)
class Rendered:
    """A card, and where each figure stands in it. `warnings`: texts that release.yaml overrides, figures published as other values."""

    text: str
    figures: tuple[Placed, ...]
    warnings: tuple[Problem, ...] = ()


def render(facts: Facts, report: Mapping[str, Any] | None = None) -> str:
    """README.md. `report` is the release's validation report. Raises CheckFailed with every figure and template problem."""
    return rendered(facts, report).text


def rendered(facts: Facts, report: Mapping[str, Any] | None = None, locale: str | None = None) -> Rendered:
    """README.md, or the card in one language of card.locales alone, with its figures. CheckFailed as for `render`."""
    problems = list(text_problems(facts))
    mark, parts = Marker(), list[str]()
    for language in [locale] if locale else readme_locales(facts.spec):
        parts.append(one_language(facts, report, language, mark, problems))
    try:
        text, figures = placed(finished("\n\n".join(parts)), mark.figures)
    except BrokenMarks:
        message = "cuts a figure apart: a filter other than md, line and code was put on text that holds it"
        text, figures = "", []
        problems.append(problem("template-fault", Where(facts.spec.card.get("template", DEFAULT)), message, "place the figure whole"))
    problems += control_characters(text, facts.spec)
    if problems:
        raise CheckFailed(dict.fromkeys(problems))
    return Rendered(text, tuple(figures), (*overridden(facts), *published_problems(facts)))


def files(facts: Facts, report: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Every file that the card makes: README.md, docs/README.LOCALE.md, .eval_results/*.yaml. CheckFailed with every problem."""
    made = {CARD: render(facts, report)}
    for locale in apart_locales(facts.spec):
        made[path_of(locale)] = rendered(facts, report, locale).text
    return made | card_results.result_files(facts, tables.build(Words(facts, locales_of(facts.spec)[0], [])))


def path_of(locale: str) -> str:
    """Where a translation lies: in docs/, which is no part of the payload, so that a validation stays fresh."""
    return f"docs/README.{locale}.md"


def readme_locales(spec: Spec) -> tuple[str, ...]:
    found = locales_of(spec)
    return found if spec.card.get("locales_in") == "one" else found[:1]


def apart_locales(spec: Spec) -> tuple[str, ...]:
    return () if spec.card.get("locales_in") == "one" else locales_of(spec)[1:]


def one_language(facts: Facts, report: Mapping[str, Any] | None, locale: str, mark: Marker, problems: list[Problem]) -> str:
    """The card in one language, with marks; what is wrong is added to `problems`."""
    from hubrelease import templating

    words = Words(facts, locale, problems)
    blocks = TextBlocks(texts_of(words))
    context = context_of(words, report, blocks, is_main=locale == locales_of(facts.spec)[0])
    try:
        texts, name = templates(facts.spec)
        if name != DEFAULT:
            problems += typed_figures.template_problems(name, texts[name])
        text = templating.run(texts, name, FILTERS, context, mark)
    except CheckFailed as error:
        problems += error.problems
        return ""
    problems += unplaced(facts, blocks, locale)
    return text


def context_of(words: Words, report: Mapping[str, Any] | None, blocks: TextBlocks, is_main: bool) -> dict[str, Any]:
    """The names that a template can use; docs/templates.md lists them."""
    from hubrelease import templating

    facts, spec = words.facts, words.facts.spec
    built = tables.build(words)
    sources = source_rows(facts)
    card = {**spec.card, **({"summary": words.text(spec.card["summary"], "/card/summary", prose=True)} if "summary" in spec.card else {})}
    payload: Any = templating.Unbuilt()
    if facts.payload:
        payload = {name: traced(value, "payload", f"payload:{name}") for name, value in facts.payload.facts.items()}
    return {
        "spec": disclosure.document(spec, facts.lock),
        "card": card,
        "front_matter": front_matter_of(facts, built, words.problems) if is_main else "",
        "tables": built,
        "plots": plot_rows(words),
        "sources": sources,
        "pinned": bool(facts.lock.sources) or facts.pinned is not None,
        "base": next((s for s in sources if s.name == spec.weights.source), None),
        "omissions": omissions(facts),
        "receipts": receipt_rows(facts, words.say),
        "payload": payload,
        "payload_digest": facts.payload and facts.payload.digest,
        "report": traced(report, "receipt", REPORT) if report is not None else None,
        "text": blocks,
        "title": words.text(spec.card["title"], "/card/title") if "title" in spec.card else spec.name.split("/")[-1],
        "license_reason": spec.text("license_reason"),
        "say": words.say,
        "locale": words.locale,
        "figures": Named(words),
        "converted": spec.weights.converts,
        "packed": spec.weights.format in PACKED,
        "runner": runner_of(spec),
    }


@dataclass(frozen=True, slots=True)
class PlotRow:
    """A picture of the card: its path from where the card lies, and what it says to who can't see it."""

    path: str
    alt: str


def plot_rows(words: Words) -> list[PlotRow]:
    spec = words.facts.spec
    up = "../" if words.locale in apart_locales(spec) else ""
    try:
        return [PlotRow(up + plot.file, alt_text(plot, words.say)) for plot in plots_of(words.facts, words.locale)]
    except CheckFailed as error:
        words.problems += error.problems
        return []


def front_matter_of(facts: Facts, built: list[tables.Table], problems: list[Problem]) -> str:
    try:
        return front_matter(facts, card_results.model_index(facts, built))
    except CheckFailed as error:
        problems += error.problems
        return front_matter(facts)


def runner_of(spec: Spec) -> str | None:
    """What the quick start is for: the embedded runtime, else what the metadata says can load it, else nothing."""
    if spec.runtime:
        return RUNNERS.get(spec.runtime.kind)
    if spec.card.get("library_name") == "vllm" or (spec.weights.converts and spec.card.get("pipeline_tag") in SERVED):
        return "vllm"
    return "transformers" if spec.card.get("library_name") == "transformers" and "pipeline_tag" in spec.card else None


def omissions(facts: Facts) -> tuple[Omission, ...]:
    return facts.spec.side_files.omit if facts.spec.side_files else ()


def receipt_rows(facts: Facts, say: Say) -> list[ReceiptRow]:
    models = {r.to: {run.model for run in facts.evaluations(r.to) if run.metrics} for r in facts.spec.receipts}
    return [ReceiptRow(r.to, r.of, r.note, footnotes(facts, r.to, say), models[r.to] == {r.of}) for r in facts.spec.receipts]


def footnotes(facts: Facts, receipt: str, say: Say) -> tuple[str, ...]:
    """What the receipt says of its runs, each different one once."""
    from hubrelease.footnotes import footnote

    found = dict.fromkeys(footnote(run, say) for run in facts.evaluations(receipt) if run.metrics)
    return tuple(text for text in found if text)[:MAX_FOOTNOTES]


def source_rows(facts: Facts) -> list[SourceRow]:
    if facts.pinned is not None:
        rows = [(name, row["uri"], row["revision"], row["license"]) for name, row in sorted(facts.pinned.items())]
    elif not facts.lock.sources:
        rows = [(s.name, asked_uri(s), s.revision or "", s.license) for s in facts.spec.sources]
    else:
        rows = [(s.name, disclosure.uri(facts.spec, facts.lock, s), s.revision, s.license) for s in facts.lock.sources]
    notes = {source.name: source.note for source in facts.spec.sources}
    return [SourceRow(name, uri, revision, licence or "", notes.get(name) or "") for name, uri, revision, licence in rows]


def asked_uri(source: Source) -> str:
    """The address of a source that is not pinned yet, as release.yaml gives it."""
    return SCHEMES[source.kind] + source.locator.replace("==", "@")


class Named:
    """figures["name"] in a template: a figure of card.figures."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def __getitem__(self, name: str) -> Any:
        known = self._words.facts.spec.card.get("figures", {})
        if name not in known:
            from hubrelease import templating

            near = nearest(str(name), known, 0.6)
            return templating.absent(f"card.figures has no {str(name)[:80]!r}" + (f"; the nearest is {near!r}" if near else ""))
        return Pieces(self._words.figure({"figure": name}, f"/card/figures/{name}"))


# --------------------------------------------------------------------------------------------------------------- texts


class TextBlocks:
    """Free text by name; remembers which names the template asked for, so that no text is lost without a word."""

    def __init__(self, texts: Mapping[str, Pieces]) -> None:
        self._texts, self._asked = texts, set[str]()

    def __getitem__(self, key: str) -> Pieces:
        self._asked.add(key)
        return self._texts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


def texts_of(words: Words) -> dict[str, Pieces]:
    """The texts of one language: those of release.yaml, and for other names the marked blocks of the card that is there."""
    card, kept = words.facts.spec.card, words.facts.kept.texts
    ours = {key: words.text(text, f"/card/text/{key}", prose=True) for key, text in card.get("text", {}).items()}
    main = locales_of(words.facts.spec)[0]
    by_hand = {name.partition(".")[0]: name for name in kept if (name.partition(".")[2] or main) == words.locale}
    for key in card.get("free_text", ()):
        by_hand.setdefault(key, key if words.locale == main else f"{key}.{words.locale}")
    marked = {key: Pieces([(free_text.marked(name, kept.get(name, "")), None)]) for key, name in by_hand.items()}
    return marked | ours


def unplaced(facts: Facts, blocks: TextBlocks, locale: str) -> Iterator[Problem]:
    for key in sorted(set(blocks) - blocks._asked):
        mend = "correct the name, or give the template a place for it: {{ text." + key + " }}"
        is_ours = key in facts.spec.card.get("text", {}) or key in facts.spec.card.get("free_text", ())
        where = facts.spec.where(f"/card/text/{key}") if is_ours else Where(CARD)
        yield problem("template-fault", where, f'the template has no place for the text "{key}"', mend)


def overridden(facts: Facts) -> Iterator[Problem]:
    """Marked blocks whose text release.yaml gives as well."""
    for name in facts.kept.texts:
        if name.partition(".")[0] in facts.spec.card.get("text", {}):
            message = f'the marked block "{name}" is replaced: release.yaml gives this text, and wins'
            mend = "move what was written by hand into release.yaml, or remove the text there"
            yield problem("card-differs", Where(CARD), message, mend, severity="warning")


def text_problems(facts: Facts) -> Iterator[Problem]:
    """Texts that open a code block, a comment or an element and leave it open (the rest would vanish in it), or hold figures."""
    texts = list(texts_in(facts.spec))
    mend = "close it, or write it as code between backticks"
    for pointer, text in texts:
        if opened := left_open(text):
            message = f"the text leaves {opened} open, which would swallow the rest of the card"
            yield problem("spec-invalid", facts.spec.where(pointer), message, mend)
    yield from typed_figures.text_problems(facts.spec, texts)
    for name, text in facts.kept.texts.items():
        if opened := left_open(text):
            message = f'the marked block "{name}" leaves {opened} open, which would swallow the rest of the card'
            yield problem("text-mark", Where(CARD, facts.kept.lines[name]), message, mend)
    yield from typed_figures.kept_problems(CARD, facts.kept)


def texts_in(spec: Spec) -> Iterator[tuple[str, str]]:
    """(pointer, text) of every text of the publisher that the card shows as Markdown."""
    card = spec.card
    given: list[tuple[str, Any]] = [("/card/summary", card.get("summary"))]
    given += [(f"/sources/{s.name}/note", s.note) for s in spec.sources]
    given += [(f"/benchmarks/{i}/note", r.note) for i, r in enumerate(spec.receipts)]
    given += [(f"/card/tables/{i}/note", table.get("note")) for i, table in enumerate(card.get("tables", ()))]
    given += [(f"/card/text/{key}", text) for key, text in card.get("text", {}).items()]
    for pointer, text in given:
        if isinstance(text, Mapping):
            yield from ((f"{pointer}/{locale}", inner) for locale, inner in text.items())
        elif text:
            yield pointer, text


# ----------------------------------------------------------------------------------------------------------- templates


def finished(text: str) -> str:
    """One blank line at most between paragraphs, but in blocks that were written by hand."""
    parts = free_text.apart(text)
    parts[::2] = [re.sub(r"\n{3,}", "\n\n", part) for part in parts[::2]]
    return "".join(parts).strip("\n") + "\n"


def control_characters(card: str, spec: Spec) -> Iterator[Problem]:
    """A card can be shown in any terminal. Only a template of one's own that places foreign text unescaped gets here."""
    if unfit := UNFIT.search(card) or re.search("\r", card):
        line = card.count("\n", 0, unfit.start()) + 1
        message = f"would hold the control character U+{ord(unfit[0]):04X} on line {line}"
        yield problem("template-fault", Where(spec.card.get("template", DEFAULT)), message, "put foreign text through the filter md")


def shipped() -> dict[str, str]:
    return {p.name: p.read_text("utf-8") for p in sorted(resources.folder("templates").glob("*.j2"))}


def templates(spec: Spec) -> tuple[dict[str, str], str]:
    """Every template by name, and the one to start from: the spec's own, which may extend card.md.j2."""
    texts = shipped()
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
