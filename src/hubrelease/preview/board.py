"""The newest state of the page, handed from the one thread that makes it to those that answer browsers."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from hubrelease import canonical
from hubrelease.preview.converter import Converter
from hubrelease.preview.folder import Files
from hubrelease.preview.pages import Target, first, look


@dataclass(frozen=True)
class State:
    """`views` are the answers to a browser, ready to be sent. `version` counts the states, from 1."""

    version: int
    files: Files
    views: Mapping[str, bytes]

    def view(self, name: str) -> bytes:
        return self.views.get(name) or self.views[first(self.views)]


def state_of(target: Target, version: int, converter: Converter) -> State:
    files, views = look(target, converter)
    return State(version, files, {name: canonical.dumps({**view, "version": version}) for name, view in views.items()})


class Board:
    """Holds a State; whoever waits for the next one is woken when it is put up."""

    def __init__(self, state: State) -> None:
        self.changed = threading.Condition()
        self.state = state
        self.is_closed = False

    def put(self, state: State) -> None:
        with self.changed:
            self.state = state
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def after(self, version: int, timeout_s: float) -> int:
        """The version that is there once it is another than `version`; `version` itself where none came in time."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_closed or self.state.version != version, timeout_s)
            return self.state.version
