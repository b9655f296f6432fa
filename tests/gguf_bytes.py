"""GGUF files of keys alone, for checks that read keys."""

from __future__ import annotations

import struct
from collections.abc import Mapping


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def write(keys: Mapping[str, str | int]) -> bytes:
    """A file of version 3 without tensors; strings and unsigned 32-bit numbers."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys))
    rows = (
        text(name) + (struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<II", 4, value))
        for name, value in keys.items()
    )
    return head + b"".join(rows) + bytes(64)
