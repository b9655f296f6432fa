"""JSON out: the one place that calls json.dumps for files, so that equal values are equal bytes.

Keys sorted, two spaces, UTF-8, LF, one newline at the end; NaN and Infinity are refused (ValueError).
"""

from __future__ import annotations

import json


def dumps(value: object) -> bytes:
    """`value` as the bytes of a JSON file."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def compact(value: object) -> bytes:
    """`value` on one line without blanks: for digests and headers, not for files that people read."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("utf-8")
