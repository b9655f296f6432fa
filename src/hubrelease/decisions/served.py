"""What a decision server tells of itself (GET /v1/models), and the first line of a rows file made from it.

Only what stays the same as long as the same weights are served by the same code on the same device is taken: by that line a
run that is resumed knows its server again. Load times, memory and the like change from one look to the next.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from hubrelease import __version__, canonical
from hubrelease.decisions import runs
from hubrelease.decisions.client import Client, NoReply
from hubrelease.decisions.questions import Questions
from hubrelease.decisions.rows import RUN, said
from hubrelease.errors import OutsideError, problem
from hubrelease.progress import SILENT, Progress
from hubrelease.verify_release import strict_json

IDENTITY = ("model", "version", "revision", "payloadDigest", "adapter", "runtime", "backend", "profile", "prompt_layout", "readout_codes",
            "max_options", "max_tokens", "max_images", "calibration_version", "device", "versions")  # fmt: skip
OWN, OWN_PARTS = "sm120", {"linear", "deltaRule", "attention"}  # runtime/engine, as its `describe` has them
MAX_FACTS_BYTES, MAX_DEPTH = 2**16, 16
LOOK_S = 10.0
KIND = "decision-server-fault"
MEND = "start the server, see that it answers GET /v1/models, then run the same command again"
Facts = dict[str, Any]


def facts(client: Client, wait_s: float = 0, progress: Progress = SILENT) -> Facts:
    """What the server tells of itself once it is ready, which is waited for. OutsideError with the last reason."""
    until, told = time.monotonic() + wait_s, ""
    while True:
        found = look(client)
        if isinstance(found, dict):
            return found
        if wait_s and found != told:
            progress.note(f"waiting up to {wait_s:g} s: the server at {place(client)} {found}")
            told = found
        if time.monotonic() >= until:
            raise OutsideError(problem(KIND, place(client), found, MEND))
        time.sleep(min(1.0, max(0.0, until - time.monotonic())))


def look(client: Client) -> Facts | str:
    """The facts, or why there are none."""
    try:
        reply = client.models(LOOK_S)
        value = strict_json(reply.body) if reply.status == 200 else None
    except NoReply as error:
        return f"does not answer: {error}"
    except ValueError as error:
        return f"answers GET /v1/models with what is not strict JSON: {str(error)[:100]}"
    if reply.status != 200:
        return f"answers GET /v1/models with HTTP {reply.status}"
    if not isinstance(value, dict) or not isinstance(value.get("model"), str) or not value["model"]:
        return "answers GET /v1/models without naming a model: it is no decision server"
    if value.get("loaded") is not True:
        return 'is not ready: /v1/models does not say "loaded": true'
    found = {key: value[key] for key in IDENTITY if value.get(key) is not None}
    return found if writable(found) else f"tells of itself at /v1/models what can't be written down, or more than {MAX_FACTS_BYTES:,} bytes"


def writable(found: Facts) -> bool:
    """False for half a surrogate pair, and for what is too deep or too much."""
    try:
        return depth(found) <= MAX_DEPTH and len(canonical.compact(found)) <= MAX_FACTS_BYTES
    except (ValueError, RecursionError):
        return False


def depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, inside), default=0)


def place(client: Client) -> str:
    return f"{client.host}:{client.port}"


def header(told: Facts, questions: Questions, concurrency: int, profile: str | None, client: Client) -> dict[str, Any]:
    """The run's first line. OutsideError where what the server tells can't stand in it."""
    made = {
        "kind": RUN,
        "schemaVersion": 1,
        "model": known(name=told["model"], revision=told.get("revision"), payloadDigest=digest(told)),
        "dataset": {"name": questions.path.name, "sha256": questions.sha256.hexdigest(), "rows": len(questions)},
        "concurrency": concurrency,
        "tool": {"name": "hubrelease", "version": __version__},
        "server": told,
        **known(profile=profile, runtime=runtime(told), packages=packages(told), environment=environment(told)),
    }
    if found := runs.faults(made, "/v1/models", 1):
        message = f"tells of itself at /v1/models what can't be written down: {found[0].where.pointer} {found[0].message}"
        raise OutsideError(problem(KIND, place(client), message, "correct what the server tells of itself"))
    return made


def known(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, {}, [])}


def digest(told: Facts) -> str | None:
    """The payload digest, with or without its algorithm before it."""
    value = told.get("payloadDigest")
    plain = value.removeprefix("sha256:") if isinstance(value, str) else ""
    return plain if re.fullmatch(r"[0-9a-f]{64}", plain) else None


def runtime(told: Facts) -> dict[str, Any]:
    """The engine that answered: what the server calls its runtime, else its backend; and its profile beside it.

    Our own decision runtime names neither, but tells of the backends of its parts.
    """
    named = next((told[key] for key in ("runtime", "backend") if is_name(told.get(key))), None)
    parts, versions = told.get("backend"), told.get("versions")
    if named is None and isinstance(parts, dict) and parts.keys() >= OWN_PARTS:
        named = OWN
    version = versions.get("engine") if isinstance(versions, dict) and named == OWN else None
    profile = told.get("profile")
    return known(name=named, version=version if is_name(version) else None, profile=profile if is_name(profile) else None)


def is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def packages(told: Facts) -> dict[str, str]:
    versions = told.get("versions")
    return {str(k): v for k, v in versions.items() if isinstance(v, str)} if isinstance(versions, dict) else {}


def device(told: Facts) -> str | None:
    """The name of the server's device."""
    found = told.get("device")
    named = found.get("name") if isinstance(found, dict) else found
    return named if isinstance(named, str) else None


def environment(told: Facts) -> dict[str, Any]:
    named, facts_of = device(told), told.get("device")
    if named is None or named == "cpu":
        return {}
    capability = facts_of.get("computeCapability") if isinstance(facts_of, dict) else None
    return {"gpus": [known(name=named, computeCapability=capability if isinstance(capability, str) else None)]}


def differences(before: Mapping[str, Any], now: Mapping[str, Any], at: str = "") -> list[str]:
    """Where two first lines differ, in words."""
    found = []
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{at}/{key}")
        elif old != new:
            found.append(f"{at}/{key} was {said(old)} and is {said(new)}")
    return found
