"""What goes in and out of the local Hub: requests, their bodies, answers and refusals.

Nothing here knows a route. A body is read in pieces, so that a large object never lies in memory.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from io import BufferedIOBase
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

PIECE_BYTES = 1 << 18
T = TypeVar("T")
Headers = Message


class HubError(Exception):
    """A refusal. `code` is the X-Error-Code from which the client picks its exception class."""

    def __init__(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def flip_bit(piece: bytes, at: int) -> bytes:
    """The same bytes with the lowest bit of the one at `at` turned over."""
    return piece[:at] + bytes([piece[at] ^ 1]) + piece[at + 1 :] if 0 <= at < len(piece) else piece


class Body:
    """A request's body, with a length or chunked, to be read once."""

    def __init__(self, source: BufferedIOBase, headers: Headers) -> None:
        self._source = source
        self._is_chunked = "chunked" in (headers.get("Transfer-Encoding") or "").lower()
        self.length = 0 if self._is_chunked else int(headers.get("Content-Length") or 0)
        self.is_present = self._is_chunked or self.length > 0
        self.wrong_bit = False
        self._pieces = self._read_chunks() if self._is_chunked else self._read_length()

    def __iter__(self) -> Iterator[bytes]:
        seen, target = 0, self.length // 2
        for piece in self._pieces:
            if self.wrong_bit and seen <= target < seen + len(piece):
                piece = flip_bit(piece, target - seen)
            seen += len(piece)
            yield piece

    def _read_length(self) -> Iterator[bytes]:
        left = self.length
        while left and (piece := self._source.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece

    def _read_chunks(self) -> Iterator[bytes]:
        while size := int(self._source.readline().split(b";")[0] or b"0", 16):
            while size and (piece := self._source.read(min(size, PIECE_BYTES))):
                size -= len(piece)
                yield piece
            self._source.readline()
        while self._source.readline().strip():
            pass

    def read(self) -> bytes:
        """Everything that was not read yet."""
        return b"".join(self)

    def drain(self) -> None:
        """Read and forget the rest, so that the next request on this connection starts at its start."""
        for _ in self._pieces:
            pass


@dataclass(frozen=True)
class User:
    name: str
    role: str

    @property
    def may_write(self) -> bool:
        return self.role == "write"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Headers
    body: Body
    user: User | None = None

    def json(self) -> Any:
        """The body as JSON, {} when there is none. HubError 400 when it cannot be read."""
        try:
            return json.loads(self.body.read() or b"{}")
        except ValueError as reason:
            raise HubError(400, f"Invalid JSON body: {reason}") from None

    def flag(self, name: str) -> bool:
        return self.query.get(name, [""])[0].lower() in ("1", "true")

    def sender(self) -> User:
        """Who sent a request that only a user may send; the routes have made sure of it."""
        assert self.user is not None
        return self.user


@dataclass(frozen=True)
class Answer:
    """`body` is bytes or a file to stream. A 200 with Accept-Ranges may be asked for in part."""

    status: int = 200
    body: bytes | Path = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.body.stat().st_size if isinstance(self.body, Path) else len(self.body)

    def pieces(self, start: int, stop: int) -> Iterator[bytes]:
        if isinstance(self.body, bytes):
            yield self.body[start:stop]
            return
        with self.body.open("rb") as file:
            file.seek(start)
            while start < stop and (piece := file.read(min(PIECE_BYTES, stop - start))):
                start += len(piece)
                yield piece


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    body = json.dumps(value, separators=(",", ":")).encode()
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status, body, {"Content-Type": "application/json; charset=utf-8", **named})


def error_answer(error: HubError) -> Answer:
    answer = json_answer({"error": error.message}, error.status, X_Error_Message=error.message, **error.headers)
    code = {"X-Error-Code": error.code} if error.code else {}
    return Answer(answer.status, answer.body, {**answer.headers, **code})


def iso_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def page_of(items: Sequence[T], number: int, size: int) -> tuple[int, Sequence[T]]:
    """Where page `number` (from 0) starts, and what is on it."""
    return number * size, items[number * size : (number + 1) * size]


def paged_answer(request: Request, endpoint: str, items: Sequence[Any], size: int) -> Answer:
    """One page of a list, with a Link to the next one."""
    number = int(request.query.get("cursor", ["0"])[0])
    start, page = page_of(items, number, size)
    if start + len(page) >= len(items):
        return json_answer(page)
    query = urlencode({**request.query, "cursor": [str(number + 1)]}, doseq=True)
    return json_answer(page, Link=f'<{endpoint}{request.path}?{query}>; rel="next"')
