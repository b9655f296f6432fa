"""JSON over HTTP with the standard library: bounded in bytes and in time, and with one kind of fault for everything that can go wrong.

A socket's timeout is one of silence; a server that sends a byte now and then is stopped by the deadline of the whole, when
the connection is shut down under whoever reads from it.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

from hubrelease import canonical
from hubrelease.decisions.client import address, shut
from hubrelease.engines import EngineFault

MAX_BYTES = 32 * 2**20
MAX_LINE = 2**20
CHUNK = 2**16
MAX_DEPTH = 64
MAX_WAIT_S = 1e6
GONE = (ConnectionError, http.client.RemoteDisconnected, http.client.IncompleteRead)


class Client:
    """Calls below one address, such as http://127.0.0.1:8000. SpecError for what is none."""

    def __init__(self, base: str) -> None:
        self.secure, self.host, self.port, self.path = address(base)

    def call(self, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> Any:
        """The JSON value of an answer with status 200. EngineFault for everything else."""
        with Exchange(self, path, body, timeout_s) as exchange:
            return parsed(exchange.whole())

    def stream(self, path: str, body: Mapping[str, Any], timeout_s: float) -> Iterator[Any]:
        """The JSON values of a stream of server-sent events, up to [DONE]. EngineFault where it ends without."""
        with Exchange(self, path, body, timeout_s) as exchange:
            for line in exchange.lines():
                data = line.strip()
                if data.removeprefix(b"data:").strip() == b"[DONE]":
                    return
                if data.startswith(b"data:"):
                    yield parsed(data[5:])
            raise EngineFault("the stream ended without [DONE]")


class Exchange:
    """One request and its answer, closed at the end whatever happens."""

    def __init__(self, client: Client, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> None:
        self.client, self.path, self.body = client, client.path + path, body
        self.timeout_s = max(0.05, min(timeout_s, MAX_WAIT_S))
        self.deadline = monotonic() + self.timeout_s
        kind = http.client.HTTPSConnection if client.secure else http.client.HTTPConnection
        self.connection = kind(client.host, client.port, timeout=self.timeout_s)
        self.sock: socket.socket | None = None
        self.timer = threading.Timer(self.timeout_s, self.expire)
        self.timer.daemon = True

    def expire(self) -> None:
        if self.sock is not None:
            shut(self.sock)

    def __enter__(self) -> Exchange:
        self.timer.start()
        try:
            data = None if self.body is None else canonical.compact(self.body)
            headers = {"accept": "application/json", **({"content-type": "application/json"} if data is not None else {})}
            self.connection.connect()
            self.sock = self.connection.sock  # the connection forgets it as soon as an answer says that it is the last
            self.connection.request("GET" if data is None else "POST", self.path, data, headers)
            self.response = self.connection.getresponse()
            if self.response.status != 200:
                said = self.response.read(2000).decode("utf-8", "replace")
                raise EngineFault(f"{self.path} answered {self.response.status}: {' '.join(said.split())[:300]}")
        except (OSError, http.client.HTTPException, EngineFault) as error:
            self.close()
            raise self.fault(error) from None
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.timer.cancel()
        self.connection.close()

    def whole(self) -> bytes:
        data = b"".join(self.pieces())
        return data

    def pieces(self) -> Iterator[bytes]:
        total = 0
        try:
            while piece := self.response.read1(CHUNK):
                total += len(piece)
                if monotonic() > self.deadline:
                    raise TimeoutError
                if total > MAX_BYTES:
                    raise EngineFault(f"the answer is longer than {MAX_BYTES >> 20} MiB")
                yield piece
        except (OSError, http.client.HTTPException) as error:
            raise self.fault(error) from None
        if monotonic() >= self.deadline:
            raise self.fault(TimeoutError())
        if (self.response.length or 0) > 0:
            raise EngineFault("the connection broke off in the middle of an answer")

    def lines(self) -> Iterator[bytes]:
        rest = b""
        for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
            if len(rest) > MAX_LINE:
                raise EngineFault("a line of the stream has no end")
        yield rest

    def fault(self, error: BaseException) -> EngineFault:
        if isinstance(error, EngineFault):
            return error
        if isinstance(error, TimeoutError) or monotonic() >= self.deadline:
            return EngineFault(f"{self.path} did not answer within {self.timeout_s:g} s")
        if isinstance(error, ConnectionRefusedError):
            return EngineFault(f"nothing listens at {self.client.host}:{self.client.port}", ended=True)
        if isinstance(error, GONE):
            return EngineFault("the connection broke off in the middle of an answer")
        return EngineFault(f"{self.path}: {type(error).__name__}: {str(error)[:200]}")


def parsed(data: bytes) -> Any:
    """The value of an answer that came with status 200. EngineFault for what is no JSON, or too deep for those who read it later."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise EngineFault(f"answered 200 with what is no JSON: {data[:80].decode('utf-8', 'replace')!r}") from None
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for one in level for child in children(one)]
        if not level:
            return value
    raise EngineFault("answered 200 with JSON that is nested too deeply")


def children(value: Any) -> Iterator[Any]:
    return iter(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
