"""uvicorn's HTTP/1.1 with what it leaves open: connections are closed that send no whole head or read no answer, and one too many.

A request head that is no HTTP gets the same kind of body as every other refusal.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
WRITE_SECONDS = 30.0
MAX_CONNECTIONS = 512


class Protocol(H11Protocol):
    """The timer runs whenever the next request head is awaited and something of it has come, and from the start."""

    timer: asyncio.TimerHandle | None = None
    unread: asyncio.TimerHandle | None = None
    head_seconds = HEAD_SECONDS
    write_seconds = WRITE_SECONDS

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that asyncio tells of every byte that the caller's side does not take
        if len(self.connections) > MAX_CONNECTIONS:
            transport.close()
            return
        self.arm()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self.disarm()
        elif self.timer is None:
            self.arm()

    def on_response_complete(self) -> None:
        self.disarm()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread = self.loop.call_later(self.write_seconds, self.transport.abort)  # close() would wait for the bytes to go

    def resume_writing(self) -> None:
        self.read_at_last()
        super().resume_writing()

    def read_at_last(self) -> None:
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.disarm()
        self.read_at_last()
        super().connection_lost(exc)

    def arm(self) -> None:
        self.timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def disarm(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def send_400_response(self, msg: str) -> None:
        self.disarm()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # an answer is on its way already
            self.transport.close()
            return
        body = json.dumps({"error": "invalid_http", "detail": "the request is not HTTP/1.1, or its head is too long"}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        response = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
