"""A run's rows → the report (schemas/validation.schema.json). Nothing of the user, of the host's name, and no clock.

`subject.payloadDigest` is the payload's, and `subject.validatedDigest` the same without the validation files that lie in
the payload: adding one of those leaves what was validated as it was. A report that lies in the payload itself can't hold a digest
over itself: its payloadDigest is the latter.
"""

from __future__ import annotations

import math
import os
import platform
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hubrelease import __version__, verify_release
from hubrelease.probes import FAIL, PASS, Row, Session
from hubrelease.validation_reports import validated_digest


def report_of(session: Session, rows: Sequence[Row], memory: Mapping[str, Any], image: str | None, runtime: str) -> Any:
    """The report; its subject's payloadDigest is set when it is written (resealing.py)."""
    result, reason = result_of(rows)
    subjects = session.release.result.provenance.subjects
    return plain(
        {
            "schemaVersion": 1,
            "result": result,
            **({"reason": reason} if reason else {}),
            "subject": {
                "name": verify_release.release_name(session.release.document),
                "payloadDigest": verify_release.payload_digest(subjects),
                "validatedDigest": validated_digest(subjects),
            },
            "environment": environment(session, image, runtime),
            "checks": [row.json for row in rows],
            "memory": dict(memory),
        },
        words_of_this_machine(session.release.root),
    )


def words_of_this_machine(root: Path) -> dict[str, str]:
    """{what must not stand in a report: what stands in its place}. What servers and libraries say when they fail may hold it."""
    found = {
        os.path.realpath(root): ".",
        str(root.absolute()): ".",
        os.path.realpath(tempfile.gettempdir()): "TMP",
        socket.gethostname(): "HOST",
    }
    found[os.path.expanduser("~")] = "~"
    return {word: instead for word, instead in found.items() if len(word) > 3 and word != "localhost"}


def plain(value: Any, words: Mapping[str, str]) -> Any:
    """`value` as JSON that anybody may read: valid Unicode, no NaN, nothing of this machine's names and paths."""
    if isinstance(value, str):
        text: str = verify_release.printable(value)
        for word in sorted(words, key=len, reverse=True):
            text = text.replace(word, words[word])
        return text
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {plain(str(key), words): plain(item, words) for key, item in value.items()}
    return [plain(item, words) for item in value] if isinstance(value, (list, tuple)) else value


def environment(session: Session, image: str | None, runtime: str) -> dict[str, Any]:
    facts, found = session.engine.facts(), session.found
    name = runtime if facts.name == "sm120" and runtime == "transformers" else facts.name
    engine_version = facts.packages.get("transformers") if name == "transformers" else facts.version
    return {
        "device": session.device if session.found.gpus or session.device == "cpu" else "server",
        "gpus": [gpu.json for gpu in found.gpus] if session.device == "cuda" else [],
        "nodes": 1,
        **({"driver": found.driver} if found.driver else {}),
        **({"cuda": cuda} if (cuda := cuda_of(session)) else {}),
        "python": platform.python_version(),
        "engine": {"name": name, **({"version": engine_version} if engine_version else {})},
        "packages": dict(sorted(facts.packages.items())),
        "backends": dict(facts.backends),
        **({"server": dict(facts.server)} if facts.server else {}),
        "image": image,
        "hubrelease": __version__,
    }


def result_of(rows: Sequence[Row]) -> tuple[str, str | None]:
    """(result, reason where it is not-run)."""
    required = [row for row in rows if row.required]
    if any(row.status == FAIL for row in required):
        return "fail", None
    idle = [row for row in required if row.status != PASS]
    if idle or not required:
        return "not-run", "; ".join(f"{row.name}: {row.reason}" for row in idle[:4]) or "no check was required"
    return "pass", None


def cuda_of(session: Session) -> str | None:
    """torch's own CUDA where the model ran in this process, else the newest that the driver runs."""
    import sys

    torch = sys.modules.get("torch")
    of_torch = getattr(getattr(torch, "version", None), "cuda", None) if torch is not None else None
    return of_torch or session.found.cuda
