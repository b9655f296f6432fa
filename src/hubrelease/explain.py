"""What a code means, why it matters, how to mend it: from the checks' own docstrings and the table of codes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from hubrelease.checks import checks
from hubrelease.codes import CODES
from hubrelease.errors import SpecError, Where, problem

LABELS = ("Why it matters", "Mend", "Source")


@dataclass(frozen=True, slots=True)
class Page:
    """One finding's page. `source` is None for problems that no report from the field stands behind."""

    code: str
    kind: str
    means: str
    why: str
    mend: str
    source: str | None


def pages() -> list[Page]:
    """Every page, in order of code."""
    found = [Page(c.code, kind, c.means, c.why, c.mend, None) for kind, c in CODES.items()]
    found += [
        page_of(check.code, check.kind, sys.modules[check.run.__module__].__doc__ or "", module_doc(check.code, check.kind))
        for check in checks()
    ]
    return sorted(found, key=lambda page: (page.code, page.kind))


def module_doc(code: str, kind: str) -> str:
    """The docstring of a check's own file (a check made by a helper of checks/ has another module's `run`)."""
    name = f"hubrelease.checks.{code.lower()}_{kind.replace('-', '_')}"
    return sys.modules[name].__doc__ or "" if name in sys.modules else ""


def page_of(code: str, kind: str, fallback: str, text: str) -> Page:
    text = text or fallback
    parts = re.split(rf"^({'|'.join(LABELS)}):", text, flags=re.M)
    labelled = {label: joined(body) for label, body in zip(parts[1::2], parts[2::2], strict=True)}
    return Page(code, kind, joined(parts[0]), labelled.get("Why it matters", ""), labelled.get("Mend", ""), labelled.get("Source"))


def joined(text: str) -> str:
    return " ".join(text.split())


def page(code: str) -> list[Page]:
    """The pages of a code or of a kind. SpecError with the nearest for an unknown one."""
    everything = pages()
    found = [p for p in everything if code.upper() == p.code or code == p.kind]
    if not found:
        near = get_close_matches(code, [p.code for p in everything] + [p.kind for p in everything], 1)
        raise SpecError(
            problem("usage", Where("command line"), f"{code!r} is no code", f"the nearest is {near[0]}" if near else "see docs/findings.md")
        )
    return found


def lines(found: Page) -> Iterator[str]:
    yield f"{found.code} {found.kind}"
    yield ""
    yield found.means
    yield ""
    yield f"Why it matters: {found.why}"
    yield f"Mend: {found.mend}"
    if found.source:
        yield f"Source: {found.source}"


def markdown() -> str:
    """docs/findings.md: all pages, generated; a test fails when the file is stale."""
    out = ["# Findings and problems", "", "Generated from the checks' docstrings by `make docs`; don't edit by hand.", ""]
    for found in pages():
        out += [
            f"## {found.code} `{found.kind}`",
            "",
            found.means,
            "",
            f"**Why it matters.** {found.why}",
            "",
            f"**Mend.** {found.mend}",
            "",
        ]
        out += [f"**Source.** {found.source}", ""] if found.source else []
    return "\n".join(out).rstrip() + "\n"
