"""Paths of the machine on which something was made, and mail addresses, in the texts of a release.

Data (JSON, YAML, notebooks, header metadata) is written by tools, so a path in it is the maker's own: home folders,
/root, mounted and shared disks. Prose, code and Dockerfiles show paths on purpose: there only a home folder of somebody
by name counts, and names that stand for anybody (user, ubuntu, you) do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

MOST = 1000  # matches that are looked at in one text

HOME = re.compile(rb"/(?:home|Users)/([A-Za-z0-9._-]{1,64})(?=[/\"'\s,;:)\]}<]|\\[nrt\"]|$)")
WINDOWS = re.compile(rb":[\\/]{1,4}(?:Users|Documents and Settings)[\\/]{1,4}([^\\/\"'\s<>|:*?]{1,64})")
SHARED = re.compile(
    rb"/(?:root/[\w.-]|(?:mnt|scratch|gpfs|lustre|nfs|fsx|cluster|Volumes|raid)/[\w.-]{1,64}/[\w.-]{1,64}/[\w.-]"
    rb"|data/(?:home|users?)/[\w.-]|content/drive/[\w.-]|var/folders/[\w.-]{2}/[\w.-])"
)
FILE_URI = re.compile(rb"file:///[\w.-]{1,64}/[\w.-]")
MAIL = re.compile(rb"[A-Za-z0-9._%+-]{1,64}@[A-Za-z][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,18}(?![\w-])")

ANYBODY = frozenset(
    b"user users username user_name name yourname your_name your-name your-username your_username your_user you me "
    b"someone somebody someuser example foo bar xxx myuser my-user my_user public shared default".split()
)
MACHINES = frozenset(
    b"ubuntu ec2-user jovyan runner runneradmin node app appuser vscode coder vllm nonroot huggingface hf docker container "
    b"admin sagemaker-user azureuser debian builder-user nobody model models worker server gradio space".split()
)
NO_ONE = re.compile(
    rb"(?i)(no-?reply|git|noreply|do-?not-?reply|hf|root)@|@(users\.noreply\.|localhost|.*\bexample\.|.*\.(example|invalid|test|local)$)"
)
BEFORE_PATH = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~}$>")


def machine_paths(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(position, path) in a text that tools wrote."""
    yield from home_folders(data, ANYBODY)
    for form in (SHARED, FILE_URI):
        yield from ((m.start(), path_at(data, m.start())) for m in tries(form, data) if form is FILE_URI or begins(data, m.start()))


def home_folders(data: bytes, ignored: frozenset[bytes] = ANYBODY | MACHINES) -> Iterator[tuple[int, bytes]]:
    """(position, path) of home folders whose owner's name is not one of `ignored`."""
    for match in tries(HOME, data):
        if begins(data, match.start()) and match[1].lower() not in ignored and not match[1].startswith(b"."):
            yield match.start(), path_at(data, match.start())
    for match in tries(WINDOWS, data):
        drive = data[match.start() - 1 : match.start()]
        if drive.isalpha() and match[1].lower() not in ignored and not match[1].startswith((b"%", b"$", b"{")):
            yield match.start() - 1, path_at(data, match.start() - 1)


def begins(data: bytes, position: int) -> bool:
    """True where a path begins: /home in https://site.org/home/page is none."""
    return position == 0 or data[position - 1] not in BEFORE_PATH


def path_at(data: bytes, position: int) -> bytes:
    found = re.compile(rb"[^\s\"'<>|,;)\]}]{1,120}").match(data, position)
    return found[0] if found else b""


def mail_addresses(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(position, address) of people; technical senders and example domains are none."""
    if b"@" in data:
        found = ((m.start(), m[0]) for m in near_at(data))
        yield from ((position, address) for position, address in found if not NO_ONE.search(address))


def near_at(data: bytes) -> Iterator[re.Match[bytes]]:
    """Matches of MAIL, looked for round each @: a search from the left is slow in a long run of letters."""
    position, end = data.find(b"@"), 0
    for _ in range(MOST):
        if position < 0:
            return
        start = position
        while start > max(position - 64, end) and data[start - 1 : start] in LOCAL:
            start -= 1
        if match := MAIL.match(data, start):
            end = match.end()
            yield match
        position = data.find(b"@", position + 1)


LOCAL = frozenset(bytes((c,)) for c in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-")


def tries(form: re.Pattern[bytes], data: bytes) -> Iterator[re.Match[bytes]]:
    return islice(form.finditer(data), MOST)
