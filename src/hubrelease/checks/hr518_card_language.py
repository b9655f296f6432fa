"""The card's language is no code of ISO 639.

Why it matters: since 2026 the Hub refuses commits whose card names a language otherwise, after the weights went up.
Mend: Write ISO 639-1 codes (639-2 or 639-3 where there is none), or `code` or `multilingual`; regions go to language_bcp47.
Source: huggingface/huggingface_hub issue 3862; espnet/espnet_model_zoo PRs 92 and 102 (noinfo, jp, es-ES, zh-CN, a blank key).
An unknown code of three letters is a warning: our list can lack one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import is_blank, items_of, kind_of
from hubrelease.hub_lists import language_names, languages, nearest
from hubrelease.release import Release
from hubrelease.strict_yaml import Node, Scalar, Sequence, pointer_to

MEND = "write ISO 639 codes such as en or zh, or multilingual"


def run(release: Release) -> Iterator[Problem]:
    node = release.card.front.get("language") if release.card else None
    for number, item in enumerate(items_of(node)):
        pointer = pointer_to("language", number) if isinstance(node, Sequence) else "/language"
        yield from problems_of(item, Where(FILE, item.line, pointer))


def problems_of(item: Node, where: Where) -> Iterator[Problem]:
    if is_blank(item):
        yield CHECK.problem(where, "language has no value", f"{MEND}, or leave the key out")
    elif not isinstance(item, Scalar) or kind_of(item) != "string":
        yield CHECK.problem(where, f"language holds a {kind_of(item)} where a code belongs", MEND)
    elif item.text not in languages():
        severity = "warning" if re.fullmatch("[a-z]{3}", item.text) else "error"
        yield CHECK.problem(where, f'language "{item.text[:60]}" is no ISO 639 code', mend_for(item.text), severity)


def mend_for(text: str) -> str:
    small = text.strip().lower()
    if code := language_names().get(small):
        return f"write {code}"
    if small in languages():
        return f"write {small}"
    head = re.split("[-_]", small)[0]
    if head != small and head in languages():
        return f"write {head}, and the region under language_bcp47"
    if re.search(r"[,;/]| and ", small):
        return "write a list with one code a line"
    near = nearest(small, language_names(), 0.85)
    return f"write {language_names()[near]} if {near} is meant" if near else MEND


CHECK = Check("HR518", "card-language", "language that is no code", run)
