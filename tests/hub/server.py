"""HTTP/1.1 on loopback: reads requests, lets faults strike, sends answers whole, in part or not at all."""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from . import routes
from .faults import Fault
from .messages import Answer, Body, HubError, Request, error_answer, flip_bit

if TYPE_CHECKING:
    from .hub import Hub

LINGER_SECONDS = 10


class HungUp(Exception):
    """The connection is to go without an answer."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, hub: Hub) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hub = hub
        self.open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
        for connection in self.open.copy():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            self.hub.crashes.append(traceback.format_exc())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def serve(self) -> None:
        hub, body = self.server.hub, Body(self.rfile, self.headers)
        fault = hub.faults.strike(f"{self.command} {self.path}")
        try:
            answer = self._act(hub, body, fault)
        except HungUp:
            hub.note(self.command, self.path, 0)
            self._hang_up()
            return
        body.drain()
        hub.note(self.command, self.path, answer.status)
        self._send(answer, fault, flip=not body.is_present)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = serve

    def _act(self, hub: Hub, body: Body, fault: Fault | None) -> Answer:
        do = fault.do if fault else ""
        if do == "cut" and self.command != "GET":
            raise HungUp
        if fault and do.startswith("delay:"):
            time.sleep(fault.number)
        body.wrong_bit = do == "wrong-bytes"
        try:
            if fault and do.startswith("status:"):
                raise _ordered(fault)
            answer = self._answer(hub, body)
        except HubError as error:
            answer = error_answer(error)
        except ConnectionError:
            raise HungUp from None
        except Exception:
            hub.crashes.append(traceback.format_exc())
            answer = error_answer(HubError(500, "Internal error of the local Hub"))
        if do == "lost":
            raise HungUp
        return answer

    def _answer(self, hub: Hub, body: Body) -> Answer:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        request = Request(self.command, parts.path, query, self.headers, body)
        if request.path.startswith("/objects/") and "Authorization" in self.headers:
            hub.leaks.append(f"{self.command} {self.path}")
        request = Request(self.command, parts.path, query, self.headers, body, routes.identify(hub, request))
        return routes.answer(hub, request)

    def _send(self, answer: Answer, fault: Fault | None, flip: bool) -> None:
        status, start, stop, headers = _span(answer, self.headers.get("Range"))
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(stop - start)}).items():
            self.send_header(name, value)
        self.send_header("X-Request-Id", f"local-{len(self.server.hub.requests)}")
        self.end_headers()
        if self.command == "HEAD":
            return
        is_cut = fault is not None and fault.do == "cut"
        wrong_at = (start + stop) // 2 if fault and fault.do == "wrong-bytes" and flip else -1
        for piece in answer.pieces(start, (start + stop) // 2 if is_cut else stop):
            self.wfile.write(flip_bit(piece, wrong_at - start))
            start += len(piece)
        if is_cut:
            self._hang_up()

    def _hang_up(self) -> None:
        """End without an answer, or in its middle. What still comes in is read, or the system would send a reset
        and the client might see that instead of an end."""
        self.close_connection = True
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGER_SECONDS)
            while self.rfile.read1(1 << 16):
                pass


def _ordered(fault: Fault) -> HubError:
    status = int(fault.number)
    wait = 1 if fault.retry_after is None and status == 429 else fault.retry_after
    headers = {} if wait is None else {"Retry_After": str(wait)}
    return HubError(status, f"Fault on order: {status}", **headers)


def _span(answer: Answer, wanted: str | None) -> tuple[int, int, int, dict[str, str]]:
    """Status, first byte, end and headers of what is sent of an answer."""
    headers, size = dict(answer.headers), answer.size
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted or "")
    if answer.status != 200 or "Accept-Ranges" not in headers or not found or found[0] == "bytes=-":
        return answer.status, 0, size, headers
    if found[1]:
        start, stop = int(found[1]), min(int(found[2]) + 1 if found[2] else size, size)
    else:
        start, stop = max(size - int(found[2]), 0), size
    if start >= stop:
        return 416, 0, 0, headers | {"Content-Range": f"bytes */{size}"}
    return 206, start, stop, headers | {"Content-Range": f"bytes {start}-{stop - 1}/{size}"}
