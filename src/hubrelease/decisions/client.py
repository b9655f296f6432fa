"""HTTP to a decision server: one connection a request, one deadline for all of it, and nothing that is retried unasked.

A connection is made anew for each request, outside what is timed: one kept open may be closed by the server just when the
next request is sent, and then nobody knows whether that was asked.
"""

from __future__ import annotations

import http.client
import json
import math
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hubrelease.errors import SpecError, problem

MAX_REPLY_BYTES = 2**22  # 255 candidates with descriptions fit many times
MAX_ASKED, MAX_PAUSE_S = 6, 30.0  # of a server that answers 503 with Retry-After
CONNECT_S = 10.0
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "hubrelease"}
MODELS, DECISIONS = "/v1/models", "/v1/systemone"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Reply(NamedTuple):
    """A whole answer. `latency_ms` is from sending the request to its last byte."""

    status: int
    body: bytes
    latency_ms: float
    retry_after_s: float | None


class NoReply(Exception):
    """There was no whole answer: no connection, one that was closed, or bytes that are no HTTP."""


class TimedOut(NoReply):
    """The answer was not whole within its time."""


class Client:
    """A server at a base URL. Several threads may ask at once."""

    def __init__(self, base_url: str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.secure, self.host, self.port, self.prefix = address(base_url)
        self.lock = threading.Lock()
        self.sockets: set[socket.socket] = set()
        self.over = threading.Event()

    @property
    def on_this_machine(self) -> bool:
        return self.host in LOOPBACK

    def models(self, timeout_s: float) -> Reply:
        return self.exchange("GET", MODELS, b"", timeout_s)

    def decide(self, request: Mapping[str, Any]) -> tuple[Reply, int]:
        """(the answer, how often it was asked for). A 503 that says when to come back is asked again, six times in all at most."""
        body = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        for asked in range(1, MAX_ASKED):
            reply = self.exchange("POST", DECISIONS, body, self.timeout_s)
            if reply.status != 503 or reply.retry_after_s is None:
                return reply, asked
            self.over.wait(min(reply.retry_after_s, MAX_PAUSE_S))
        return self.exchange("POST", DECISIONS, body, self.timeout_s), MAX_ASKED

    def exchange(self, method: str, path: str, body: bytes, timeout_s: float) -> Reply:
        """One request. NoReply or TimedOut where no whole answer came."""
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        connection = kind(self.host, self.port, timeout=min(CONNECT_S, timeout_s))
        try:
            connection.connect()
            connection.sock.settimeout(None)
            with self.deadline(connection.sock, timeout_s):
                began = perf_counter()
                connection.request(method, self.prefix + path, body or None, HEADERS)
                response = connection.getresponse()
                data = response.read(MAX_REPLY_BYTES + 1)
                if response.length and len(data) <= MAX_REPLY_BYTES:
                    raise http.client.IncompleteRead(data, response.length)
                return Reply(response.status, data, (perf_counter() - began) * 1000, seconds(response.getheader("Retry-After")))
        except (OSError, http.client.HTTPException) as error:
            raise NoReply(told(error)) from None
        finally:
            connection.close()

    @contextmanager
    def deadline(self, sock: socket.socket, timeout_s: float) -> Iterator[None]:
        """Shuts the connection down when its time is over, or at `abort`. A socket's own timeout counts from each byte anew."""
        late = threading.Event()
        timer = threading.Timer(timeout_s, expire, (late, sock))
        timer.daemon = True
        with self.lock:
            if self.over.is_set():
                raise NoReply("the run is over")
            self.sockets.add(sock)
        timer.start()
        try:
            yield
            if late.is_set():
                raise TimeoutError
        except (OSError, http.client.HTTPException):
            if late.is_set():
                raise TimedOut(f"no answer within {timeout_s:g} s") from None
            raise
        finally:
            timer.cancel()
            with self.lock:
                self.sockets.discard(sock)

    def abort(self) -> None:
        """Ends all requests that are on their way, and lets no other begin."""
        self.over.set()
        with self.lock:
            for sock in self.sockets:
                shut(sock)


def expire(late: threading.Event, sock: socket.socket) -> None:
    late.set()
    shut(sock)


def shut(sock: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # of the plain socket below TLS: that one's own would wait for its thread


def address(base_url: str) -> tuple[bool, str, int, str]:
    """(with TLS, host, port, path before the API's /v1). SpecError for what is no address."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")  # as the socket will: an empty or overlong part of a name is refused only there
    except ValueError:
        raise wrong(base_url) from None
    plain = base_url.isascii() and base_url.isprintable() and " " not in base_url
    if not plain or parts.scheme not in ("http", "https") or not host or port == 0 or set("@?#") & set(base_url):
        raise wrong(base_url)
    secure = parts.scheme == "https"
    return secure, host, port or (443 if secure else 80), parts.path.rstrip("/").removesuffix("/v1")


def wrong(base_url: str) -> SpecError:
    """What stands before an @, or in a query, may be a password and is not shown."""
    secret = "@" in base_url or "?" in base_url
    shown = re.split("[?#]", base_url.rpartition("@")[2])[0]
    mend = "leave out name, password and query: none is sent" if secret else "write it as http://127.0.0.1:8000"
    return SpecError(problem("usage", "--base-url", f'"{shown[:80]}" is no server\'s address', mend))


def seconds(header: str | None) -> float | None:
    """Retry-After as a number of seconds; a date is not looked at."""
    try:
        value = float(header or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def told(error: Exception) -> str:
    """What happened to a connection, in words."""
    if isinstance(error, http.client.RemoteDisconnected | ConnectionResetError | BrokenPipeError):
        return "the connection was closed before an answer came"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection was closed in the middle of an answer"
    if isinstance(error, http.client.HTTPException):
        return f"what came is no HTTP ({type(error).__name__})"
    if isinstance(error, TimeoutError):
        return "no connection could be made in time"
    return f"no connection: {error.strerror or type(error).__name__}" if isinstance(error, OSError) else str(error)
