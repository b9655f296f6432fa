"""What a text lacks of the words expected of it: for `validate` when an answer comes, for `verify` when a report has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SHOWN = 120


def text_faults(expect: Mapping[str, Any], text: str) -> Iterator[str]:
    """Case counts for nothing."""
    low, said = text.lower(), repr(text[:SHOWN])
    for word in expect.get("contains", ()):
        if word.lower() not in low:
            yield f"{said} lacks {word!r}"
    for word in expect.get("absent", ()):
        if word.lower() in low:
            yield f"{said} holds {word!r}"
    some = expect.get("anyOf", ())
    if some and not any(word.lower() in low for word in some):
        yield f"{said} holds none of {', '.join(map(repr, some))}"
