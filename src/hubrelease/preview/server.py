"""The server on loopback: one page, its state as JSON, an event for every change, pictures and texts of the folder.

Every answer forbids the browser everything that is not this server's (Content-Security-Policy). A slow client holds one
thread; when there are too many, the oldest connection is closed, so that no number of them keeps the next one out.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hubrelease.preview import requests
from hubrelease.preview.board import Board
from hubrelease.preview.requests import Asked, Refusal

HERE = Path(__file__).parent
ASSETS = {"icon.svg": "image/svg+xml", "page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
MAX_CONNECTIONS = 64
SLOW_S = 10  # how long one read from, or one write to, a client may take
HEARTBEAT_S = 15.0
STRICT = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
LOCKED = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"  # a picture or text, opened by itself


def policy(nonce: str) -> str:
    """What the page may do: its own style and script, its own server's pictures and answers."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Server(ThreadingHTTPServer):
    """`url` is the one address that answers; it holds a token of this run."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, board: Board, port: int = 0) -> None:
        self.board, self.token = board, secrets.token_urlsafe(24)
        self.open: dict[socket.socket, None] = {}  # in the order in which they came
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def server_bind(self) -> None:
        """As in socketserver: http.server would ask a name server for the name of this machine."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "localhost", self.port

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.lock:
            self.open[request] = None
            oldest = next(iter(self.open)) if len(self.open) > MAX_CONNECTIONS else None
            if oldest is not None:
                del self.open[oldest]
        if oldest is not None:
            hang_up(oldest)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self.lock:
            self.open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error; everything else is a bug, shown as socketserver shows it."""
        import sys

        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def hang_up(connection: socket.socket) -> None:
    """Wakes the thread that waits for this client; it then closes the connection."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has gone already


class Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = SLOW_S
    server_version, sys_version = "hubrelease", ""

    def do_GET(self) -> None:
        self.request_version = "HTTP/1.0"
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = requests.judge(self.command, self.path, headers, self.server.port, self.server.token)
        if isinstance(asked, Refusal):
            self.answer(asked.why.encode(), "text/plain; charset=utf-8", status=asked.status)
            return
        answers: dict[str, Any] = {"page": self.page, "state": self.state, "events": self.events, "file": self.picture, "text": self.text}
        if asked.name in ASSETS and not asked.rest:
            self.answer((HERE / asked.name).read_bytes(), ASSETS[asked.name])
        elif asked.name in answers:
            answers[asked.name](asked)
        else:
            self.absent()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = do_GET

    def answer(self, body: bytes, kind: str, *, status: int = 200, policy: str = LOCKED, more: Mapping[str, str] | None = None) -> None:
        self.begin(kind, policy, status, {"Content-Length": str(len(body)), **(more or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def begin(self, kind: str, policy: str, status: int, more: Mapping[str, str]) -> None:
        self.close_connection = True
        self.send_response(status)
        for name, value in {**STRICT, **more, "Content-Type": kind, "Content-Security-Policy": policy, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def absent(self) -> None:
        self.answer(b"nothing here", "text/plain; charset=utf-8", status=HTTPStatus.NOT_FOUND)

    def page(self, asked: Asked) -> None:
        nonce = secrets.token_urlsafe(16)
        text = (HERE / "page.html").read_text("utf-8").replace("NONCE", nonce)
        self.answer(text.encode(), "text/html; charset=utf-8", policy=policy(nonce))

    def state(self, asked: Asked) -> None:
        self.answer(self.server.board.state.view(asked.query.get("view", "")), "application/json")

    def picture(self, asked: Asked) -> None:
        found = self.server.board.state.files.image(asked.rest)
        if found is None:
            self.absent()
        else:
            self.answer(found[1], found[0])

    def text(self, asked: Asked) -> None:
        found = self.server.board.state.files.text(asked.rest)
        if found is None:
            self.absent()
        else:
            self.answer(found.encode("utf-8", "replace"), "text/plain; charset=utf-8")

    def events(self, asked: Asked) -> None:
        """Server-sent events: the version that is there, then each new one. `?after=N` where the browser has N."""
        self.begin("text/event-stream", LOCKED, 200, {})
        if self.command == "HEAD":
            return
        version = 0
        while True:
            newer = self.server.board.after(version, HEARTBEAT_S)
            if self.server.board.is_closed:
                return
            self.wfile.write(b": still here\n\n" if newer == version else b"data: %d\n\n" % newer)
            self.wfile.flush()
            version = newer

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A request that http.server can't read, with the same headers as every other answer."""
        self.request_version = "HTTP/1.0"  # so that even the answer to the shortest request has a status
        self.command = ""
        self.answer((message or "not understood").encode("ascii", "replace"), "text/plain; charset=utf-8", status=code)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to the command."""
