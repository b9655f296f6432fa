"""A config holds somebody's mail address.

Why it matters: configs are copied into every derived model, and the address with them; nobody can call it back.
Mend: Take it out; where people may write to you, the card is the place.
Source: huggingface/huggingface_hub's commit scan looks for the like; the fixtures of this project had to have theirs replaced.

A warning, for configs (JSON and YAML) and header metadata only. Cards, licences, citations and package files name people on
purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.private_places import mail_addresses
from hubrelease.release import Release
from hubrelease.texts import Text, is_vocabulary, texts
from hubrelease.verify_release import PROVENANCE

CONFIG = re.compile(r"(?!(benchmarks|\.eval_results|docs|examples|\.cache|\.github)/).*\.(json|ya?ml)")
NAMES_PEOPLE = re.compile(r"(.*/)?(package(-lock)?\.json|codemeta\.json|CITATION.*|release\.ya?ml|.*samples?.*|.*croissant.*)")
MAX_BYTES = 2**20


def run(release: Release) -> Iterator[Problem]:
    for text in texts(release):
        if is_config(text) and (found := next(iter(mail_addresses(text.data)), None)):
            position, address = found
            name, _, domain = address.decode("ascii", "replace").partition("@")
            where = Where(text.file, text.line(position), text.pointer)
            yield CHECK.problem(where, f"holds the mail address {name[:2]}…@{domain}", "take it out", severity="warning")


def is_config(text: Text) -> bool:
    if text.pointer is not None:
        return text.pointer.startswith("/__metadata__")
    named = CONFIG.fullmatch(text.file) is not None and NAMES_PEOPLE.fullmatch(text.file) is None
    return named and not is_vocabulary(text.file) and text.file != PROVENANCE and len(text.data) <= MAX_BYTES


CHECK = Check("HR432", "private-mail", "mail address in a config", run)
