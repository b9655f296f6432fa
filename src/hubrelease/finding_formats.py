"""Findings in the forms that other tools read: GitHub's workflow commands and SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hubrelease import __version__
from hubrelease.errors import Problem
from hubrelease.verify_release import printable


def github_lines(problems: Sequence[Problem], prefix: str = "") -> Iterator[str]:
    """One `::error file=…,line=…,title=…::message` a problem (GitHub Actions, workflow commands). `prefix` is the release's folder."""
    for item in problems:
        level = "error" if item.severity == "error" else "warning"
        place = f"file={property_text(prefix + item.where.file)}" + (f",line={item.where.line}" if item.where.line else "")
        title = property_text(f"{item.code} {item.kind}")
        yield f"::{level} {place},title={title}::{message_text(f'{item.message}; mend: {item.mend}')}"


def message_text(text: str) -> str:
    """Escaped as the runner unescapes it: nothing in a message can begin another command."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property_text(text: str) -> str:
    return message_text(text).replace(":", "%3A").replace(",", "%2C")


def sarif(problems: Sequence[Problem], prefix: str = "") -> str:
    """A SARIF 2.1.0 log of one run, as text."""
    rules = sorted({(p.code, p.kind) for p in problems})
    run = {
        "tool": {"driver": {"name": "hubrelease", "version": __version__, "rules": [{"id": code, "name": kind} for code, kind in rules]}},
        "results": [result(p, prefix) for p in problems],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def result(item: Problem, prefix: str) -> dict[str, Any]:
    from urllib.parse import quote

    region = {"region": {"startLine": item.where.line}} if item.where.line else {}
    place = {"physicalLocation": {"artifactLocation": {"uri": quote(printable(prefix + item.where.file))}, **region}}
    return {
        "ruleId": item.code,
        "level": "error" if item.severity == "error" else "warning",
        "message": {"text": printable(f"{item.message}; mend: {item.mend}")},
        "locations": [place],
        **({"suppressions": [{"kind": "external", "justification": printable(item.waived)}]} if item.waived else {}),
    }
