"""A Truss configuration can't be served as it stands, or takes its weights from what moves.

Why it matters: the deployment fails after the image was built and the weights were fetched, or serves other weights tomorrow.
Mend: As the message says; weights are pinned as hf://owner/name@COMMIT.
Source: truss 0.18.36 base/truss_config.py; port 8080 is reserved by the platform, though the schema takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hubrelease.checks import Check
from hubrelease.drafts import first_object
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping
from hubrelease.release import Release
from hubrelease.strict_yaml import Mapping, Scalar, find, pointer_to
from hubrelease.truss import TrussConfig, configs, text_at

PINNED = re.compile(r"hf://[^@\s]+@[0-9a-f]{40}")
REQUIRED = ("server_port", "predict_endpoint", "readiness_endpoint", "liveness_endpoint")


class Fault(NamedTuple):
    pointer: str
    message: str
    mend: str
    severity: str = "error"


def run(release: Release) -> Iterator[Problem]:
    card = release.read("README.md") or b""
    for found in configs(release):
        for fault in [*server(found), *weights(found), *cache(found), *secrets(found), *names(found, card)]:
            _, line = find(found.root, fault.pointer)
            yield CHECK.problem(Where(found.file, line, fault.pointer), fault.message, fault.mend, fault.severity)


def server(found: TrussConfig) -> Iterator[Fault]:
    if found.server is None:
        return
    for key in REQUIRED if text_at(found.server, "no_build") == "true" else (*REQUIRED, "start_command"):
        if not text_at(found.server, key):
            yield Fault("/docker_server", f"docker_server has no {key}", f"add {key}")
    port, said = text_at(found.server, "server_port"), found.option("--port")
    if port == "8080":
        yield Fault("/docker_server/server_port", "server_port is 8080, which the platform keeps for itself", "take another port")
    if port and said and said.isdigit() and said != port:
        yield Fault(
            "/docker_server/server_port", f"server_port is {port}, and the start command says --port {said}", "give one port in both"
        )
    yield from unmounted(found)


def unmounted(found: TrussConfig) -> Iterator[Fault]:
    """Models that the command looks for where nothing is mounted."""
    speculative = as_mapping(first_object(found.option("--speculative-config", "--speculative_config") or ""))
    draft = speculative.get("model")
    paths = [*found.model_paths, *([draft] if isinstance(draft, str) and draft.startswith("/") else [])]
    for path in paths if found.mounts else ():
        if not any(path.rstrip("/") == mount or path.startswith(f"{mount}/") for mount in found.mounts):
            message = f"the start command reads {path[:120]}, and nothing is mounted there"
            yield Fault("/docker_server/start_command", message, "mount the weights there, or correct the path")


def weights(found: TrussConfig) -> Iterator[Fault]:
    seen: set[str] = set()
    for pointer, row in found.rows("weights"):
        source, mount = text_at(row, "source") or "", text_at(row, "mount_location") or ""
        if source.startswith("hf://") and not PINNED.fullmatch(source):
            yield Fault(f"{pointer}/source", f"{source[:120]} names no commit", "write hf://owner/name@COMMIT")
        if not mount.startswith("/") or mount in seen:
            why = "is taken twice" if mount in seen else "is no absolute path"
            yield Fault(f"{pointer}/mount_location", f"the mount {mount[:80]!r} {why}", "give each source an absolute path of its own")
        seen.add(mount)
        if row.get("auth") and row.get("auth_secret_name"):
            yield Fault(pointer, "has both auth and auth_secret_name", "keep one")


def cache(found: TrussConfig) -> Iterator[Fault]:
    for pointer, row in found.rows("model_cache"):
        revision, volume = text_at(row, "revision") or "", text_at(row, "use_volume") == "true"
        if text_at(row, "kind") in (None, "hf") and not re.fullmatch(r"[0-9a-f]{40}", revision):
            repo = (text_at(row, "repo_id") or "")[:100]
            yield Fault(
                pointer,
                f"{repo} is cached at {revision[:60] or 'whatever revision'}",
                "give its 40-digit commit",
                "error" if volume else "warning",
            )
        if volume and not text_at(row, "volume_folder"):
            yield Fault(pointer, "use_volume needs a volume_folder", "add volume_folder")
    if found.root.get("weights") and found.root.get("model_cache"):
        yield Fault("/model_cache", "weights and model_cache exclude each other", "keep weights")


def secrets(found: TrussConfig) -> Iterator[Fault]:
    """Secrets are named here, with null for a value; the platform has the values."""
    section = found.section("secrets")
    for pair in section.pairs if isinstance(section, Mapping) else ():
        if not (isinstance(pair.value, Scalar) and pair.value.plain and pair.value.text in ("", "null", "~")):
            yield Fault(
                pointer_to("secrets", pair.key),
                f"the secret {pair.key[:60]} has a value here",
                "write null; keep the value with the platform",
            )


def names(found: TrussConfig, card: bytes) -> Iterator[Fault]:
    served = found.option("--served-model-name")
    if served and card and served.encode("utf-8", "surrogatepass") not in card:
        message = f"the server calls the model {served[:100]!r}, and the card does not"
        yield Fault("/docker_server/start_command", message, "document the name that requests must use", "warning")


CHECK = Check("HR342", "truss-config", "Truss configuration that can't be served", run)
