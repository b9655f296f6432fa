"""validate: run a release on a device, write down what ran and what came out, bound to these very bytes.

Payload digest first, then the environment, then the probes in order; nothing is written before the last one has ended, so
an interrupted run leaves the release as it was. What the report is worth is said by its rows alone: pass only if every
required check ran and passed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from hubrelease import gpus, reports_written, resealing, suites, verify_release
from hubrelease.checks import as_problem
from hubrelease.decisions.client import LOOPBACK, address
from hubrelease.engines import Engine, EngineFault, Missing
from hubrelease.engines.openai import OpenAI
from hubrelease.engines.sm120 import SM120
from hubrelease.engines.transformers import Transformers
from hubrelease.engines.vllm import VLLM
from hubrelease.errors import CheckFailed, OutsideError, SpecError, Where, problem
from hubrelease.gpus import Found
from hubrelease.manifest import REPORT
from hubrelease.memory_samples import Sampler
from hubrelease.probes import (
    FAIL,
    SKIPPED,
    Probe,
    Row,
    Session,
    determinism,
    judged,
    kernels,
    latency,
    load,
    logits,
    promise,
    repetition,
    requests,
    soak,
    start,
    streaming,
)
from hubrelease.progress import SILENT, Progress
from hubrelease.release import Release
from hubrelease.sealer import held
from hubrelease.suites import Suite
from hubrelease.validated import WAS_THE_END, Asked, Validated

PROBES: tuple[Probe, ...] = (
    kernels.PROBE,  # before the engine takes the memory
    start.PROBE,
    load.PROBE,
    requests.PROBE,  # what came back is what the canaries look at
    streaming.PROBE,
    logits.PROBE,
    repetition.PROBE,
    determinism.PROBE,
    latency.PROBE,
    soak.PROBE,
    promise.PROBE,
)
FUNCTIONAL = ("start", "requests", "streaming")
FUNCTIONAL_FILE, CPU_FILE, VLLM_FILE = "benchmarks/validation.json", "conversion_validation.json", "runtime_validation.json"


def validate(folder: str | Path, asked: Asked, progress: Progress = SILENT) -> Validated:
    """Runs the release in `folder` and writes its report, card and provenance. Raises a ReleaseError where nothing could be run.

    SpecError for a request that can't be understood, CheckFailed for a folder that is not the release it says it is,
    OutsideError where a GPU, a package or a server is missing; then nothing was written.
    """
    root = Path(folder)
    with held(root) if root.is_dir() and os.access(root, os.R_OK) else nullcontext():
        return held_validate(root, asked, progress)


def held_validate(root: Path, asked: Asked, progress: Progress) -> Validated:
    """validate, in a folder that nobody else seals meanwhile."""
    release = opened(root, progress)
    asked = settled(asked, release)
    suite = suite_of(release)
    found = gpus.find() if asked.device == "cuda" else Found()
    require(asked, found, release)
    file = file_of(asked)
    session = Session(release, suite, engine_of(asked, release), str(asked.device), told_gpus(asked, found, release), promised(release))
    rows, memory = probed(session, asked, progress)
    rows = [settled_row(row, suite, file) for row in rows]
    report: dict[str, Any] = reports_written.report_of(session, rows, memory, asked.image, asked.runtime or "")
    return Validated(root, file, report, resealing.reseal(release, file, report))


# ------------------------------------------------------------------------------------------------------- before the run


def opened(root: Path, progress: Progress) -> Release:
    """The release, every byte of its payload held against its provenance. What validate itself writes may differ."""
    progress.start("hashing", None)
    result = verify_release.check_folder(root, count=progress.advance)
    progress.finish()
    own = (*resealing.own_files(result.entries), *resealing.own_files(s.name for s in result.provenance.subjects))
    bad = [as_problem(f) for f in result.findings if f.severity == "error" and f.file not in own]
    bad += [
        as_problem(f) for f in verify_release.absences(result._replace(missing=[s for s in result.missing if s.name not in own]), bool(bad))
    ]
    if any(p.undecided for p in bad):
        raise OutsideError(bad)
    if bad:
        raise CheckFailed(bad)
    if not os.access(root, os.W_OK) or verify_release.Folder(root).cache:
        mend = "copy it: `hf download REPO --local-dir DIR`, then validate DIR"
        raise OutsideError(problem("disk-fault", str(root), "the report can't be written into this folder", mend))
    return Release(root, result)


def settled(asked: Asked, release: Release) -> Asked:
    """Runtime and device, chosen where they were not given. SpecError for what does not go together."""
    spec_runtime = release.spec.get("runtime")
    kind = spec_runtime.get("kind") if isinstance(spec_runtime, dict) else None
    runtime = asked.runtime or ("openai" if asked.base_url else kind if kind in ("sm120", "vllm", "transformers") else "transformers")
    bad = None
    if runtime == "openai" and not asked.base_url:
        bad = ("--runtime openai needs --base-url", "give the address of a running server, such as http://127.0.0.1:8000")
    elif asked.runtime == "sm120" != kind and not asked.base_url and not has_server(release):
        bad = ("--runtime sm120 needs a decision release", "leave --runtime out: release.yaml says what runs this one")
    elif asked.base_url and runtime == "transformers":
        bad = ("--base-url has no meaning for --runtime transformers", "leave one of them out")
    if bad:
        raise SpecError(problem("usage", "command line", *bad))
    if asked.base_url:
        address(asked.base_url)
    return replace(asked, runtime=runtime, device=asked.device or "cuda")


def suite_of(release: Release) -> Suite:
    """The suite that the release brings, else the default one for what its files show that it takes. CheckFailed for a broken one."""
    document = release.json(suites.FILE)
    if suites.FILE not in release.files:
        takes = suites.takes_of(release.spec, release.config(), release.files, release.config("tokenizer_config.json"))
        return suites.suite_of(suites.document_for(takes, {}, None), suites.default_picture)
    if bad := list(suites.problems_of(document, lambda pointer: Where(suites.FILE, None, pointer))):
        raise CheckFailed(bad)
    return suites.suite_of(document, lambda name: release.folder.read(f"{suites.FOLDER}/{name}", suites.MAX_PICTURE_BYTES))


def require(asked: Asked, found: Found, release: Release) -> None:
    """OutsideError (exit code 3) that says what is missing and how to run it elsewhere."""
    if asked.base_url or asked.device == "cpu" or found.gpus:
        return
    from hubrelease.jobs import elsewhere

    raise OutsideError(problem("gpu-missing", "this machine", found.missing, elsewhere(release, asked.runtime or "transformers")))


def file_of(asked: Asked) -> str:
    """Which of the contract's files the report becomes."""
    if asked.suite == "functional":
        return FUNCTIONAL_FILE
    if asked.runtime == "vllm":
        return VLLM_FILE
    return CPU_FILE if asked.runtime == "transformers" and asked.device == "cpu" else REPORT


def engine_of(asked: Asked, release: Release) -> Engine:
    """The engine of a runtime. A decision release under transformers is its own server with transformers' model under the readout."""
    root, device = Path(os.path.realpath(release.root)), str(asked.device)
    weights = release.spec.get("weights")
    remote_code = isinstance(weights, dict) and isinstance(weights.get("remote_code"), str)
    if asked.runtime == "sm120":
        return SM120(release, device, base=asked.base_url)
    if asked.base_url:
        return OpenAI(asked.base_url)
    if asked.runtime == "vllm":
        return VLLM(root, device, remote_code)
    if has_server(release):
        return SM120(release, device, profile="reference")
    return Transformers(root, device, remote_code)


def has_server(release: Release) -> bool:
    """It brings the decision runtime."""
    return any(path.startswith("runtime/server/") for path in release.files)


def told_gpus(asked: Asked, found: Found, release: Release) -> Found:
    """The GPUs that the run is about. What is started here takes the first one; of a server elsewhere nothing is known.

    A server on loopback may be a tunnel to elsewhere: it is taken for one of this machine only if enough of the GPUs'
    memory is taken to hold the weights.
    """
    if asked.base_url is None:
        return replace(found, gpus=found.gpus[:1])
    is_here = address(asked.base_url)[1] in LOOPBACK
    weights = sum(e.size for path, e in release.result.entries.items() if path.endswith(".safetensors"))
    used = gpus.memory_used_mib() if is_here and found.gpus else None
    return found if used is not None and used * 2**20 >= weights / 2 else Found()


def promised(release: Release) -> tuple[str, ...]:
    runtime = release.spec.get("runtime")
    rows = runtime.get("compute_capabilities") if isinstance(runtime, dict) else None
    return tuple(row for row in rows if isinstance(row, str)) if isinstance(rows, list) else ()


# ---------------------------------------------------------------------------------------------------------------- the run


def probed(session: Session, asked: Asked, progress: Progress) -> tuple[list[Row], dict[str, Any]]:
    """Every probe's rows, and the memory meanwhile. OutsideError where a server that others started can't be reached."""
    chosen = [p for p in PROBES if asked.suite == "full" or p.name in FUNCTIONAL]
    rows: list[Row] = []
    ended: str | None = None
    on_gpus = len(session.found.gpus) if session.device == "cuda" else 0
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # nvidia-smi's order, so that the first is the same one
    try:
        with interrupted_by_signals(), Sampler(on_gpus, lambda: session.engine.pid) as memory:
            for probe in chosen:
                progress.note(f"{probe.name} …")
                made, ended = run_probe(probe, session, ended)
                rows += made
                if probe.name == "start" and ended:
                    refuse_outside(asked, made[-1].reason or "")
        if asked.suite == "full":
            rows.append(memory_row(session.suite, memory.found))
    finally:
        session.engine.close()
    return rows, memory.found


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """SIGTERM and a lost terminal end a run as Ctrl-C does: with the servers that it started. nohup still keeps it running.

    Only a process's main thread gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    kept = {sign: signal.getsignal(sign) for sign in (signal.SIGTERM, signal.SIGHUP)}
    for sign, before in kept.items():
        if before is not signal.SIG_IGN:
            signal.signal(sign, interrupt)
    try:
        yield
    finally:
        for sign, before in kept.items():
            signal.signal(sign, before)


def run_probe(probe: Probe, session: Session, ended: str | None) -> tuple[list[Row], str | None]:
    """(rows, why nothing more can be asked). A probe that has come to its end before its time is a failed row.

    OutsideError where this machine lacks what the engine needs.
    """
    if ended and probe.name != "promise":
        return [Row(probe.name, SKIPPED, True, reason=f"not run: {ended}")], ended
    if reason := probe.skip(session):
        return [Row(probe.name, SKIPPED, probe.required, reason=reason)], ended
    rows: list[Row] = []
    try:
        rows.extend(probe.run(session))
    except Missing as fault:
        raise OutsideError(problem(fault.kind, "this machine", fault.message, fault.mend)) from None
    except EngineFault as fault:
        rows.append(Row(probe.name, FAIL, reason=fault.message))
        ended = f"{probe.name} {WAS_THE_END}" if fault.ended or probe.name == "start" else None
    return rows, ended


def refuse_outside(asked: Asked, why: str) -> None:
    """A server of others that does not answer says nothing about the release."""
    if asked.base_url:
        message = f"the server at {asked.base_url} {why}" if not why.startswith("nothing") else why
        raise OutsideError(problem("server-unreachable", "--base-url", message, "start the server, wait until it is ready, then run again"))


def memory_row(suite: Suite, memory: dict[str, Any]) -> Row:
    most = suite.limit("peak_memory_mib")
    if "peakMiB" not in memory:
        return Row("memory", SKIPPED, most is not None, reason="nothing tells the memory that was used")
    limit = {**({"peakMiB": {"max": most}} if most is not None else {}), "hostOomEvents": {"is": 0}, "why": suite.reason("peak_memory_mib")}
    limit = {key: bound for key, bound in limit.items() if key == "why" or key in memory}
    return judged("memory", {key: memory[key] for key in ("peakMiB", "samples", "hostOomEvents") if key in memory}, limit)


def settled_row(row: Row, suite: Suite, file: str) -> Row:
    """What release.yaml does not require is not required, for the reason that it gives; a promise is the main report's business."""
    if row.name == "promise" and file != REPORT:
        return replace(row, required=False)
    reason = suite.not_required.get(row.name) or suite.not_required.get(row.name.split(":")[0])
    if reason is None:
        return row
    note = f"not required by the publisher: {reason}"
    return replace(row, required=False, reason=f"{row.reason}; {note}" if row.reason else note)
