"""What the adapters share: values of a foreign JSON document taken out with their types looked at, and names of units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hubrelease.evaluations import number

MAX_TEXT, MAX_COUNT = 300, 10**15
LOSSES = ("ppl", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")  # the lower the better, in every harness


def mapping(value: Any, key: str) -> Mapping[str, Any]:
    """The object under `key`; an empty one where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def text(value: Any, longest: int = MAX_TEXT) -> str | None:
    """Text that says something, without blanks around it, cut at `longest` characters."""
    return value.strip()[:longest] or None if isinstance(value, str) else None


def first_text(value: Mapping[str, Any], *keys: str) -> str | None:
    """The first of `keys` that holds text."""
    return next((found for key in keys if (found := text(value.get(key)))), None)


def precision_of(*values: Any) -> str | None:
    """The first that names a type of numbers; "auto" leaves it to the engine."""
    return next((found for value in values if (found := text(value)) not in (None, "auto")), None)


def whole(value: Any) -> int | None:
    """A count: a whole number from 0, of a size that counts have."""
    found = number(value)
    return int(found) if found is not None and 0 <= found < MAX_COUNT and found == int(found) else None


def plain(value: Any) -> str | None:
    """A number, a word or a truth value as a reader would say it; None for what is no single value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    found = number(value)
    if found is not None:
        return f"{int(found):,}" if found == int(found) and abs(found) < 1e15 else f"{found:g}"
    return text(value)


def seed_of(value: Any) -> str | None:
    """A seed is a name made of digits: no commas."""
    found = number(value)
    return str(int(found)) if found is not None and found == int(found) and abs(found) < 2**64 else text(value)


def conditions_of(value: Mapping[str, Any], names: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """(name for a reader, value) of the keys in `names` that hold a single value."""
    return tuple((name, found) for key, name in names.items() if (found := plain(value.get(key))) is not None)


def versions_of(value: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """(package, version) of a mapping, in order of its names."""
    return tuple((name, found) for name, item in sorted(value.items()) if (found := text(item) or plain(item)) is not None)


def counted(names: Iterable[str]) -> str | None:
    """Devices as "2 × NVIDIA H100", in order of first appearance; None where there are none."""
    return ", ".join(f"{count} × {name}" for name, count in Counter(names).items()) or None
