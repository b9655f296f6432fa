"""A server on a real socket of loopback, in a thread of its own, and plain clients for it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import runtime_path  # noqa: F401
from fakes import FakeEngine

QUESTION = {"type": "noul", "instructions": "Is it?"}
BODY = {"state": {"k": 1}, "questions": {"q": QUESTION}}


@dataclass(frozen=True)
class Said:
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Running:
    """`server` is uvicorn's, `service` ours."""

    server: Any
    engine: FakeEngine
    code: list[int] = field(default_factory=list)

    @property
    def service(self) -> Any:
        return self.server.service

    @property
    def port(self) -> int:
        return int(self.server.addresses[0][1])

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Said:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Said(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Said:
        return self.ask("GET", path)

    def post(self, body: Any, content_type: str = "application/json") -> Said:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", "/v1/systemone", data, {"Content-Type": content_type})

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def alive(self) -> bool:
        return self.post(BODY).status == 200

    def until(self, true: Any, seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "did not come to be"
            time.sleep(0.005)


@contextmanager
def running(engine: FakeEngine | None = None, load: Any = None, wait: bool = True, **limits: Any) -> Iterator[Running]:
    """A server over a fake engine, or over what `load` gives."""
    from server.service import Limits
    from server.serving import serve, server_of

    made = engine or FakeEngine()
    server = server_of(load or (lambda: made), Limits(**limits), "127.0.0.1", 0)
    found = Running(server, made)
    thread = threading.Thread(target=lambda: found.code.append(asyncio.run(serve(server))))
    thread.start()
    try:
        found.until(lambda: server.started or not thread.is_alive())
        if wait:
            found.until(lambda: found.service.status == "ready", 600)
        yield found
    finally:
        made.gate.set()
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()


def request_head(length: int, more: str = "", content_type: str = "application/json") -> bytes:
    return f"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def answer_of(connection: socket.socket) -> Said:
    """The response that a raw socket gets."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return Said(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


def multipart(request: Any, *images: bytes, boundary: str = "b0und", name: str = "request") -> tuple[bytes, str]:
    """Body and content type of a form."""
    text = request if isinstance(request, bytes) else json.dumps(request).encode()
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + text]
    for image in images:
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="image"; filename="i"\r\nContent-Type: application/octet-stream\r\n\r\n'
        )
        parts.append(head.encode() + image)
    return b"\r\n".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"
