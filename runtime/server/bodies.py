"""Reading a request's body: limits hold while it streams, a slow sender is given up, a caller that left is noticed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from server.budget import Share
from server.refusals import Refused, too_large

MAX_BODY_BYTES = 128 * 2**20
DRAIN_SECONDS = 3.0
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientLeft(Exception):
    """The caller closed the connection; nobody reads an answer."""


@dataclass(frozen=True)
class Patience:
    """How slow a sender may be: seconds without a byte, and after a grace of seconds so many bytes a second on the whole."""

    idle_seconds: float = 10.0
    grace_seconds: float = 15.0
    bytes_per_second: float = 65_536.0


def declared_length(headers: Any) -> int:
    """Content-Length, 0 where there is none. Raises Refused (413) before a byte of the body is read."""
    text = headers.get("content-length", "0")
    length = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else MAX_BODY_BYTES + 1
    if length > MAX_BODY_BYTES:
        raise over_limit()
    return length


class Upload:
    """The body of one request. `complete` once its last byte has come."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self.complete = receive, False

    async def read(self, share: Share, patience: Patience) -> bytearray:
        """The whole body. Raises Refused (408, 413, 503) or ClientLeft."""
        body = bytearray()
        started = asyncio.get_running_loop().time()
        while not self.complete:
            chunk = await self.next(patience, started, len(body))
            if len(body) + len(chunk) > MAX_BODY_BYTES:
                raise over_limit()
            share.grow(len(chunk))
            body += chunk
        return body

    async def next(self, patience: Patience, started: float, received: int) -> bytes:
        elapsed = asyncio.get_running_loop().time() - started
        left = patience.grace_seconds + received / patience.bytes_per_second - elapsed
        try:
            return await asyncio.wait_for(self.chunk(), max(0.0, min(left, patience.idle_seconds)))
        except TimeoutError:
            raise Refused(408, "too_slow", "the body did not arrive in time") from None

    async def chunk(self) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        self.complete = not message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def drain(self) -> None:
        """Throws away what a refused caller still sends: many clients read no answer before they have sent everything."""
        received = 0
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.complete and received < 2 * MAX_BODY_BYTES:
                    received += len(await self.chunk())
        except (TimeoutError, ClientLeft):
            return


async def left(receive: Receive) -> None:
    """Returns when the caller closes the connection; call it only once the body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


def over_limit() -> Refused:
    return too_large(f"the body has more than {MAX_BODY_BYTES:,} bytes")
