"""Glob patterns on POSIX paths: `*` and `?` stay in a folder, `**` crosses folders, a trailing `/` is the whole folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    pattern = re.sub(r"(\*\*/)+", "**/", re.sub(r"\*{3,}", "**", pattern.removeprefix("./")))
    pattern = pattern + "**" if pattern.endswith("/") else pattern
    forms = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|.", pattern, re.S)
    return re.compile("".join(forms.get(token) or re.escape(token) for token in tokens), re.S)


def matches(path: str, pattern: str) -> bool:
    return compiled(pattern).fullmatch(path) is not None


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)
