"""This ran on a GPU of a compute capability that the release promises. On another, the promise stays what it is: not validated."""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.capabilities import capability
from hubrelease.probes import PASS, SKIPPED, Probe, Row, Session


def skip(session: Session) -> str | None:
    if not session.promised:
        return "release.yaml promises no compute capability (runtime.compute_capabilities)"
    return None


def run(session: Session) -> Iterator[Row]:
    ran = {capability(text) for text in session.capabilities} - {None}
    left = [text for text in session.promised if capability(text) not in ran]
    measured = {"ranOn": list(session.capabilities) or [session.device], "promised": list(session.promised), "left": left}
    where = ", ".join(session.capabilities) or ("the CPU" if session.device == "cpu" else "a GPU that the server does not name")
    reason = f"ran on {where}; promised and not validated: {', '.join(left)}" if left else None
    status = SKIPPED if len(left) == len(session.promised) else PASS
    yield Row("promise", status, measured=measured, reason=reason)


PROBE = Probe("promise", skip, run, required=False)
