"""The Python API: what the commands call. Typed functions over the same values; nothing prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hubrelease import builder, pins, sealer
from hubrelease import lock as locks
from hubrelease.builder import Built, Options
from hubrelease.card_command import render_spec
from hubrelease.decisions.report import compare
from hubrelease.hub import HuggingFaceHub
from hubrelease.lock import Lock
from hubrelease.outside import Outside
from hubrelease.progress import SILENT, Progress
from hubrelease.spec import Spec, load_spec
from hubrelease.validated import Asked, Validated
from hubrelease.verifier import verify

__all__ = ["bench_report", "build", "load_spec", "pin", "render_card", "seal", "validate", "verify"]


def outside_for(spec: Spec, offline: bool = False, progress: Progress = SILENT) -> Outside:
    """The outside world of a spec: the Hub, the caches, the network switch."""
    plain = Outside(spec.folder, progress=progress)
    return replace(plain, offline=True, hub=HuggingFaceHub(offline=True)) if offline or plain.offline else plain


def pin(spec: Spec, *, update: Sequence[str] = (), offline: bool = False, progress: Progress = SILENT) -> Lock:
    """Resolves what release.lock.json does not hold yet, and the sources named in `update`; writes the lock.

    Example: `hubrelease.pin(hubrelease.load_spec("examples/minilm")).source("base_model").revision`
    """
    lock = pins.pin(spec, locks.read(spec), outside_for(spec, offline, progress), update)
    builder.write_lock(spec, lock)
    return lock


def build(spec: Spec, out: str | Path, *, locked: bool = False, offline: bool = False, jobs: int | None = None,
          link: bool = False, rehash: bool = False, progress: Progress = SILENT) -> Built:  # fmt: skip
    """Builds the whole release at `out`, which then is the new release, or as it was if a ReleaseError is raised.

    Example: `hubrelease.build(hubrelease.load_spec("examples/minilm"), "dist/minilm", locked=True).release_digest`
    """
    return builder.build(spec, out, outside_for(spec, offline, progress), Options(locked, jobs, link, rehash))


def seal(folder: str | Path, *, rehash: bool = False, offline: bool = False, progress: Progress = SILENT) -> Built:
    """Makes a folder that holds release.yaml a release in place: checks, card, provenance. The payload is only read.

    Example: `hubrelease.seal("/data/my-model").release_digest`
    """
    spec = load_spec(folder)
    return sealer.seal(spec, outside_for(spec, offline, progress), rehash)


def render_card(spec: Spec, *, tree: str | Path | None = None) -> str:
    """The model card of a spec as text. Figures of the payload come from `tree`, else from the last build that fits.

    Example: `print(hubrelease.render_card(hubrelease.load_spec("examples/minilm"), tree="dist/minilm"))`
    """
    return render_spec(spec, outside_for(spec), Path(tree) if tree else None)


def bench_report(baseline: str | Path, candidate: str | Path, *, exclude_unmatched: bool = False) -> dict[str, object]:
    """The paired report of two runs of a decision benchmark (schemas/decision-report.schema.json) from their rows files.

    Example: `hubrelease.bench_report("bf16.jsonl", "fp8.jsonl")["comparison"]`
    """
    return compare(Path(baseline), Path(candidate), exclude_unmatched)


def validate(folder: str | Path, *, runtime: str | None = None, device: str | None = None, base_url: str | None = None,
             suite: str = "full", image: str | None = None, progress: Progress = SILENT) -> Validated:  # fmt: skip
    """Runs a release folder on a device and puts the report into it; card and provenance are made again.

    `runtime`: sm120, transformers, vllm or openai (with `base_url`); `device`: cuda or cpu; `suite`: full or functional.
    Raises OutsideError where a GPU, a package or the server is missing; then nothing was written.
    Example: `hubrelease.validate("dist/minilm", runtime="transformers", device="cpu").result`
    """
    from hubrelease import validator

    return validator.validate(folder, Asked(runtime, device, base_url, suite, image), progress)
