"""uvicorn round the app: signals, shutdown, the process's exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from types import FrameType

import uvicorn
from engine import Engine

from server.app import application
from server.logs import log
from server.protocol import Protocol
from server.service import EXIT_LOAD, Limits, Service

GRACE_SECONDS = 60


class Server(uvicorn.Server):
    """At a signal the waiting requests are sent away at once; the running one gets its answer."""

    service: Service

    @property
    def addresses(self) -> list[list[str | int]]:
        """Host and port of what it listens on."""
        return [list(socket.getsockname()[:2]) for listener in self.servers for socket in listener.sockets]

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        log("signal", name=signal.Signals(sig).name)
        self.service.scheduler.close()
        self.force_exit = self.should_exit and sig == signal.SIGINT  # a second Ctrl-C waits for nobody
        self.should_exit = True  # and not remembered, or uvicorn would end the process by the signal, without our exit code


def server_of(load: Callable[[], Engine], limits: Limits, host: str, port: int, release: Mapping[str, str] | None = None) -> Server:
    """A server that isn't started yet."""
    service = Service(load, limits, end=lambda: setattr(server, "should_exit", True), release=release or {})
    config = uvicorn.Config(
        application(service),
        host=host,
        port=port,
        http=Protocol,
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config)
    server.service = service
    return server


async def serve(server: Server) -> int:
    """Serves until a signal, a failed load or a lost device; the exit code. Logs the address once it listens."""
    announcing = asyncio.create_task(announce(server))
    try:
        await server.serve()
    except SystemExit:  # how uvicorn says that it can't listen
        log("listen_failed", host=server.config.host, port=server.config.port)
        return EXIT_LOAD
    finally:
        announcing.cancel()
    return server.service.exit_code


async def announce(server: Server) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    log("listening", addresses=server.addresses)
