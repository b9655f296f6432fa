"""A preview that runs: it looks at the folder, serves the page, and looks again whenever something changed.

The main thread watches and renders, so that a bug there ends the command with its traceback; threads beside it answer browsers.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

from hubrelease.errors import OutsideError, Where, problem
from hubrelease.preview import watching
from hubrelease.preview.board import Board, State, state_of
from hubrelease.preview.converter import Converter
from hubrelease.preview.pages import Target, find
from hubrelease.preview.server import Server


class Live:
    """Listens from the moment it is made. `run` returns when it is interrupted."""

    def __init__(self, target: Target, port: int, converter: Converter | None = None) -> None:
        self.target = target
        self.seen = watching.signature(target.folder)
        self.converter = converter or Converter()
        self.board = Board(state_of(target, 1, self.converter))
        try:
            self.server = Server(self.board, port)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            found = problem("usage", Where("command line"), f"port {port} can't be opened: {why}", "give another --port, or none")
            self.converter.close()
            raise OutsideError(found) from None
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return self.server.url

    def look(self) -> State | None:
        """The new state if something changed since the last look."""
        now = watching.signature(self.target.folder)
        if now == self.seen:
            return None
        self.seen = watching.settled(self.target.folder, now)
        state = state_of(self.target, self.board.state.version + 1, self.converter)
        self.board.put(state)
        return state

    def run(self, announce: Callable[[], None]) -> None:
        """Calls `announce` once the page can be opened."""
        try:
            announce()
            while True:
                time.sleep(watching.PERIOD_S)
                self.look()
        except KeyboardInterrupt:
            return
        finally:
            self.close()

    def close(self) -> None:
        self.board.close()
        self.server.shutdown()
        self.server.server_close()
        self.converter.close()


def start(path: str, port: int = 0) -> Live:
    """A running preview of RELEASE or DIR on 127.0.0.1. OutsideError where there is nothing to show, or no port."""
    return Live(find(Path(path)), port)


def open_browser(url: str) -> bool:
    """Opens the page where there is a screen; a browser in the terminal would take the terminal away."""
    has_screen = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return has_screen and webbrowser.open(url)
