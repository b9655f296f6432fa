"""A rows file as records: one JSON object a line, UTF-8. Bounded in memory, and every refusal has line and reason.

Strictness is that of every JSON that hubrelease reads (no doubled key, no NaN, no half surrogate pair). It is not
verify_release.strict_json, which looks at every number: a rows file has half a million, and rows.py checks those it uses.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from hubrelease import canonical
from hubrelease.errors import OutsideError, problem

MAX_LINE_BYTES = 2**20  # 255 candidates of 2,000 characters fit
MAX_LINES = 2_000_000
MAGIC = ((b"\xef\xbb\xbf", "a byte order mark"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x1f\x8b", "gzip"),
         (b"\x28\xb5\x2f\xfd", "zstd"))  # fmt: skip


class Place(NamedTuple):
    """Where a record stands in its file: line from 1, byte offset, bytes."""

    line: int
    offset: int
    size: int


class LineFault(ValueError):
    """Why a line is no record. `last`: what follows can't be read either."""

    def __init__(self, line: int, reason: str, last: bool = False) -> None:
        self.line, self.last = line, last
        super().__init__(reason)


@contextmanager
def reading(path: Path, mend: str = "give a rows file written by `hubrelease bench run`") -> Iterator[BinaryIO]:
    """The file, open. OutsideError if it is not there, no regular file, or refuses to be read at any time."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "is no regular file")
        with path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise OutsideError(problem("disk-fault", str(path), f"can't be read: {error.strerror}", mend)) from None


def lines(stream: BinaryIO) -> Iterator[tuple[Place, bytes]]:
    """Each line without its LF. LineFault for a line that is too long, a file that has too many, and a cut last line."""
    offset = 0
    for number in range(1, MAX_LINES + 2):
        line = stream.readline(MAX_LINE_BYTES + 1)
        if not line:
            return
        if number == 1:
            refuse_encoding(line)
        if number > MAX_LINES:
            raise LineFault(number, f"the file has more than {MAX_LINES:,} lines", True)
        if not line.endswith(b"\n"):
            long = len(line) > MAX_LINE_BYTES
            reason = f"is longer than {MAX_LINE_BYTES:,} bytes" if long else "is cut: the file ends without a line feed"
            raise LineFault(number, reason, True)
        yield Place(number, offset, len(line)), line[:-1]
        offset += len(line)


def refuse_encoding(first: bytes) -> None:
    found = next((name for magic, name in MAGIC if first.startswith(magic)), None)
    if found:
        raise LineFault(1, f"the file begins as {found}; a rows file is plain UTF-8", True)


def record_of(line: bytes, number: int) -> dict[str, Any]:
    """The JSON object of a line. LineFault with the reason."""
    try:
        value = DECODER.decode(line.decode("utf-8"))
        if b"\\ud" in line.lower():
            canonical.compact(value)  # refuses half a surrogate pair
    except UnicodeError as error:
        half = isinstance(error, UnicodeEncodeError)
        raise LineFault(number, "holds half a surrogate pair" if half else f"is not UTF-8: byte {error.start + 1}") from None  # type: ignore[attr-defined]
    except RecursionError:
        raise LineFault(number, "is nested too deeply") from None
    except ValueError as error:
        raise LineFault(number, "is empty" if not line.strip() else f"is not strict JSON: {error}") from None
    if not isinstance(value, dict):
        raise LineFault(number, "is no JSON object")
    return value


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return value


def refuse(token: str) -> float:
    raise ValueError(f"{token} is not JSON")


DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=refuse)


def read_again(stream: BinaryIO, place: Place) -> bytes:
    """The line at a place that was read before."""
    return os.pread(stream.fileno(), place.size - 1, place.offset)
