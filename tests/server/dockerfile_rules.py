"""The rules of hadolint (github.com/hadolint/hadolint, its README's table) that can apply to our Dockerfiles, and a check of build arguments.

hadolint's own binary confirms them in the heavy tests. A finding is (rule, line).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise

from hubrelease.dockerfiles import VARIABLE, Instruction, instructions

Finding = tuple[str, int]
SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|_KEY$|^KEY$|CREDENTIAL", re.I)
PREDEFINED = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "TARGETPLATFORM", "TARGETARCH", "TARGETOS", "BUILDPLATFORM", "PATH", "HOME", "PWD"}
WORDS = (
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
)


def findings(text: str) -> list[Finding]:
    rows = list(instructions(text))
    found = [f for rule in RULES for f in rule(rows)]
    return sorted(set(found), key=lambda f: (f[1], f[0]))


def stages(rows: list[Instruction]) -> Iterator[list[Instruction]]:
    """The instructions of each stage, its FROM first."""
    starts = [n for n, row in enumerate(rows) if row.word == "FROM"] + [len(rows)]
    yield from (rows[a:b] for a, b in pairwise(starts))


def aliases(rows: list[Instruction]) -> list[tuple[str, int]]:
    matches = ((re.search(r"\sas\s+(\S+)$", row.text.strip(), re.I), row.line) for row in rows if row.word == "FROM")
    return [(match[1].lower(), line) for match, line in matches if match]


def commands(rows: list[Instruction]) -> Iterator[tuple[list[str], int]]:
    """Simple commands of RUN lines, as words."""
    for row in rows:
        if row.word == "RUN":
            for command in re.split(r"&&|\|\||;|\|", row.text):
                try:
                    words = shlex.split(command)
                except ValueError:
                    words = command.split()
                if words:
                    yield words, row.line


def instruction_order(rows: list[Instruction]) -> Iterator[Finding]:
    yield from (("DL1000", row.line) for row in rows if row.word not in WORDS)
    yield from (("DL4000", row.line) for row in rows if row.word == "MAINTAINER")
    yield from (
        ("DL3061", row.line) for row in rows[: next((n for n, r in enumerate(rows) if r.word == "FROM"), len(rows))] if row.word != "ARG"
    )
    for stage in stages(rows):
        for word, rule in (("CMD", "DL4003"), ("ENTRYPOINT", "DL4004"), ("HEALTHCHECK", "DL3012")):
            yield from ((rule, row.line) for row in [r for r in stage if r.word == word][1:])


def images(rows: list[Instruction]) -> Iterator[Finding]:
    """Stricter than hadolint: a digest, not only a tag."""
    known = {name for name, _ in aliases(rows)}
    names = [(row.text.split()[0], row.line) for row in rows if row.word == "FROM"]
    names += [(m[1], row.line) for row in rows if row.word == "COPY" and (m := re.search(r"--from=(\S+)", row.text))]
    for image, line in names:
        if image.lower() not in known and not image.isdigit() and not re.fullmatch(r"[^@]+:[^@:]+@sha256:[0-9a-f]{64}", image):
            yield ("DL3007" if image.endswith(":latest") else "DL3006", line)
    seen: set[str] = set()
    for name, line in aliases(rows):
        if name in seen:
            yield "DL3024", line
        seen.add(name)


def users_and_folders(rows: list[Instruction]) -> Iterator[Finding]:
    yield from (("DL3000", row.line) for row in rows if row.word == "WORKDIR" and not row.text.startswith(("/", "$", '"/')))
    *_, last = stages(rows)
    users = [row for row in last if row.word == "USER"]
    if not users or users[-1].text.split(":")[0] in ("root", "0"):
        yield "DL3002", (users or last)[-1].line
    for stage in stages(rows):
        home = False
        for row in stage:
            home |= row.word == "WORKDIR"
            if row.word == "COPY" and not home and not row.text.split()[-1].startswith(("/", "$", '"/')):
                yield "DL3045", row.line


def copies(rows: list[Instruction]) -> Iterator[Finding]:
    for row in rows:
        words = [w for w in row.text.split() if not w.startswith("--")]
        if row.word == "ADD" and not re.match(r"https?://|git@", words[0]) and not re.search(r"\.(tar(\.\w+)?|tgz|txz)$", words[0]):
            yield "DL3020", row.line
        if row.word == "COPY" and len(words) > 2 and not words[-1].endswith(("/", "/.", "]")):
            yield "DL3021", row.line


def exec_form(rows: list[Instruction]) -> Iterator[Finding]:
    for row in rows:
        if row.word in ("CMD", "ENTRYPOINT") and not row.text.startswith("["):
            yield "DL3025", row.line
    if not any(row.word == "HEALTHCHECK" for row in rows) and any(row.word == "EXPOSE" for row in rows):
        yield "DL3057", rows[-1].line


def environment(rows: list[Instruction]) -> Iterator[Finding]:
    """DL3044: a variable of an ENV line used in the same line is the one from before."""
    for row in rows:
        if row.word == "ENV":
            names = re.findall(r"(?:^|\s)(\w+)=", row.text)
            for name in names:
                if name != "PATH" and re.search(rf"\$\{{?{name}\b", row.text):
                    yield "DL3044", row.line


def labels(rows: list[Instruction]) -> Iterator[Finding]:
    for row in rows:
        if row.word == "LABEL":
            for key in re.findall(r"(?:^|\s)([^\s=\"]+)=", row.text):
                if not re.fullmatch(r"[a-z][a-z0-9]*([.-][a-z0-9]+)*", key):
                    yield "DL3048", row.line


def shell(rows: list[Instruction]) -> Iterator[Finding]:
    for words, line in commands(rows):
        first = words[0].rpartition("/")[2]
        if first == "cd":
            yield "DL3003", line
        if first == "sudo":
            yield "DL3004", line
        if first in ("ssh", "vim", "shutdown", "service", "ps", "free", "top", "kill", "mount", "ifconfig"):
            yield "DL3001", line
        if first == "apt":
            yield "DL3027", line
        if first == "apt-get" and "install" in words:
            yield from apt(words, line)
        if re.fullmatch(r"pip3?", first) and "install" in words:
            yield from pip(words, line)
    for row in rows:
        if row.word == "RUN" and "apt-get" in row.text and "update" in row.text and "/var/lib/apt/lists" not in row.text:
            yield "DL3009", row.line
        if row.word == "RUN" and re.search(r"[^|]\|[^|]", row.text) and "pipefail" not in row.text:
            yield "DL4006", row.line


def apt(words: list[str], line: int) -> Iterator[Finding]:
    packages = [w for w in words[words.index("install") + 1 :] if not w.startswith("-")]
    if any("=" not in p for p in packages):
        yield "DL3008", line
    if "--no-install-recommends" not in words:
        yield "DL3015", line
    if not {"-y", "--yes", "-qq", "--assume-yes"} & set(words):
        yield "DL3014", line


def pip(words: list[str], line: int) -> Iterator[Finding]:
    if "--no-cache-dir" not in words:
        yield "DL3042", line
    if "--require-hashes" not in words:
        yield "DL3013", line  # stricter than hadolint, which asks for versions only


def arguments(rows: list[Instruction]) -> Iterator[Finding]:
    """Build arguments: each has a default and is used in its stage; none is a secret; no variable is used that nothing sets."""
    first = next((n for n, row in enumerate(rows) if row.word == "FROM"), len(rows))
    before = {name_of(row) for row in rows[:first] if row.word == "ARG"}
    for stage in stages(rows):
        known: set[str] = set()
        for row in stage:
            scope = before if row.word == "FROM" else known | PREDEFINED
            used = (
                {m[1] or m[3] for m in VARIABLE.finditer(row.text)}
                if row.word not in ("RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK")
                else set()
            )
            yield from (("ARG-UNSET", row.line) for name in used - scope)
            if row.word == "ARG":
                yield from argument(row, stage, before)
            if row.word in ("ARG", "ENV"):
                known |= {name_of(row)} | set(re.findall(r"(?:^|\s)(\w+)=", row.text))


def argument(row: Instruction, stage: list[Instruction], before: set[str]) -> Iterator[Finding]:
    name = name_of(row)
    if "=" not in row.text and name not in before:
        yield "ARG-DEFAULT", row.line
    if SECRET.search(name):
        yield "ARG-SECRET", row.line
    later = [r for r in stage if r.line > row.line]
    reads_environment = any(r.word == "RUN" and name.startswith("PIP_") and "pip" in r.text for r in later)  # pip's own variables
    if not reads_environment and not any(re.search(rf"\$\{{?{name}\b", r.text) for r in later):
        yield "ARG-UNUSED", row.line


def name_of(row: Instruction) -> str:
    return row.text.partition("=")[0].split()[0]


RULES = (instruction_order, images, users_and_folders, copies, exec_form, environment, labels, shell, arguments)
