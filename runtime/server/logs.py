"""Structured logs: one JSON object a line on standard error, without anything that a caller sent.

Our own events have fixed keys. Records of libraries are reduced to logger, level and place in the source, for their texts
may quote what they were given; an exception to its type and its frames.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any

LIBRARIES_MAY_SAY = ("uvicorn.error",)  # its templates are constant; arguments are dropped


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"time": stamp(record.created), "level": record.levelname.lower()}
        event = getattr(record, "event", None)
        if isinstance(event, dict):
            line |= event
        else:
            line |= {"event": "library", "logger": record.name, "place": f"{record.module}:{record.lineno}"}
            if record.name in LIBRARIES_MAY_SAY:
                line["template"] = str(record.msg)
        if record.exc_info and record.exc_info[1] is not None:
            line |= fault(record.exc_info[1])
        return json.dumps(line, ensure_ascii=True, separators=(",", ":"))


def stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


def fault(error: BaseException) -> dict[str, Any]:
    """An exception without its message, which may quote a caller; the frames are those of what caused it."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)[-12:]
    return {"exception": type(error).__name__, "frames": [f"{f.filename.rsplit('/', 1)[-1]}:{f.lineno} {f.name}" for f in frames]}


LOGGER = logging.getLogger("systemone")


def log(event: str, level: int = logging.INFO, caught: BaseException | None = None, **fields: Any) -> None:
    """One event. Fields are counts, times, statuses and words of ours."""
    LOGGER.log(level, event, extra={"event": {"event": event, **fields, **(fault(caught) if caught else {})}})


def configure() -> None:
    """Everything that anybody logs or warns goes through JsonLines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    LOGGER.setLevel(logging.INFO)
    logging.captureWarnings(True)
