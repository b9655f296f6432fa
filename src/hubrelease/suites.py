"""The suite of a release: what is asked of it when it is validated, what the answers must hold, and the limits (schemas/suite.schema.json).

It travels as runtime/suite/suite.json with its pictures, so that anybody can ask the same again; being payload, another
limit makes a report stale like another weight. A release without one is asked the default requests of what its files show
that it takes. The file of a release is hostile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease import resources
from hubrelease.errors import Problem, Where, problem
from hubrelease.schema_problems import validate
from hubrelease.verify_release import path_fault

FOLDER, FILE = "runtime/suite", "runtime/suite/suite.json"
DEFAULTS = "default.json"
VERSION = 1
MAX_BYTES, MAX_PICTURE_BYTES = 4 * 2**20, 16 * 2**20
KINDS = ("chat", "completion", "decision", "image", "images", "long", "reasoning", "streaming", "tool", "video")
LONG = (7820, 31020)  # tokens; validation.long_prompts says others, where the context has no room for these
LATENCY_TOKENS = (128, 1024)
TALKS = ("chat", "completion")


@dataclass(frozen=True)
class Limit:
    """A default limit, and why it is where it is. `value` None: measured and not judged."""

    value: float | None
    reason: str


LIMITS: Mapping[str, Limit] = {
    "start_s": Limit(900, "a large checkpoint from a slow disk, and kernels compiled at the first start"),
    "request_s": Limit(600, "longer than any request of the suite should take anywhere but on a CPU"),
    "peak_memory_mib": Limit(None, "release.yaml promises no memory"),
    "latency_ms": Limit(None, "release.yaml promises no latency"),
    "kernel_error": Limit(5e-3, "BF16's rounding and the tensor cores' accumulation, of the largest reference value"),
    "distinct_share": Limit(0.3, "of runs of three words: plain prose has more than 0.8, a text that goes in circles less than 0.2"),
    "longest_run": Limit(6, "the same word in a row: prose has two or three"),
    "strange_share": Limit(0.02, "control and replacement characters: prose has none"),
    "predictive_entropy": Limit(0.9, "of a uniform guess, over plain English: what has learnt nothing is at 1"),
    "decision_entropy": Limit(0.9999, "of a uniform guess: equal probabilities everywhere say that the readout sees nothing"),
    "soak_failures": Limit(0, "what fails under load fails its users"),
}


@dataclass(frozen=True)
class Request:
    """One thing that is asked. `body` has what its kind needs (schemas/suite.schema.json), `expect` what the answer must hold."""

    name: str
    kind: str
    body: Mapping[str, Any]
    expect: Mapping[str, Any]
    required: bool = True


@dataclass(frozen=True)
class Suite:
    """`not_required`: {name of a check: the publisher's reason}. `picture` reads a file of the suite's folder."""

    takes: tuple[str, ...]
    requests: tuple[Request, ...]
    limits: Mapping[str, float]
    not_required: Mapping[str, str]
    latency_tokens: tuple[int, ...]
    soak_s: float
    picture: Callable[[str], bytes]

    def limit(self, name: str) -> float | None:
        return self.limits.get(name, LIMITS[name].value)

    def at_most(self, name: str) -> float:
        """A limit that has a default."""
        value = self.limit(name)
        assert value is not None, name
        return value

    def reason(self, name: str) -> str:
        """Where a limit comes from."""
        return "release.yaml" if name in self.limits else LIMITS[name].reason

    def of(self, *kinds: str) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.kind in kinds)


# ------------------------------------------------------------------------------------------------- reading and making one


def default_document() -> dict[str, Any]:
    """The requests of every kind that hubrelease itself brings."""
    found: dict[str, Any] = json.loads((resources.folder("runtime") / "suite" / DEFAULTS).read_bytes())
    return found


def default_picture(name: str) -> bytes:
    return (resources.folder("runtime") / "suite" / name).read_bytes()


def document_for(takes: tuple[str, ...], asked: Mapping[str, Any], own: Mapping[str, Any] | None) -> dict[str, Any]:
    """The suite.json for a release: default requests of the kinds it takes, or its own suite; and what release.yaml says besides.

    `own` is held against its form only as part of the whole, so that it has to be an object of lists and objects: problems_of first.
    """
    own_words = own or {}
    if own is None:
        long = [long_request(tokens) for tokens in asked.get("long_prompts", LONG)] if "long" in takes else []
        requests = [*(r for r in default_document()["requests"] if r["kind"] in takes), *long]
    else:
        requests = list(own.get("requests", ()))
    return {
        "schemaVersion": VERSION,
        "takes": list(takes),
        "requests": [*requests, *asked.get("checks", ())],
        "limits": {**own_words.get("limits", {}), **asked.get("limits", {})},
        "notRequired": [*own_words.get("notRequired", ()), *asked.get("not_required", ())],
        "latencyTokens": list(asked.get("latency_tokens", own_words.get("latencyTokens", LATENCY_TOKENS))),
        "soakS": asked.get("soak_s", own_words.get("soakS", 0)),
    }


def long_request(tokens: int) -> dict[str, Any]:
    return {"name": f"long-{tokens}", "kind": "long", "tokens": tokens, "maxTokens": 24, "expect": {"contains": ["heron"]}}


def problems_of(document: Any, where: Callable[[str], Where]) -> Iterator[Problem]:
    """What is wrong with a suite: its form, limits that there are not, names used twice, pictures outside of its folder."""
    version = document.get("schemaVersion") if isinstance(document, dict) else None
    if type(version) is int and version > VERSION:
        mend = "use a newer hubrelease"
        yield problem("suite-invalid", where("/schemaVersion"), f"is {version}, and this version reads {VERSION}", mend)
        return
    faults = validate(document, resources.schema("suite"), where)
    for fault in faults:
        yield problem("suite-invalid", fault.where, fault.message, fault.mend)
    if faults:
        return
    known = ", ".join(LIMITS)
    for name in document.get("limits", {}):
        if name not in LIMITS:
            yield problem("suite-invalid", where(f"/limits/{name}"), f"there is no limit {name[:60]!r}", f"known: {known}")
    names = [request["name"] for request in document["requests"]]
    for number, request in enumerate(document["requests"]):
        if names.index(request["name"]) != number:
            yield problem(
                "suite-invalid", where(f"/requests/{number}/name"), f"{request['name'][:60]!r} is used twice", "name it otherwise"
            )
        for picture in request.get("images", ()):
            if fault_text := path_fault(picture):
                yield problem(
                    "suite-invalid", where(f"/requests/{number}/images"), f"{picture[:80]!r} {fault_text}", "name a file of the suite"
                )


def suite_of(document: Mapping[str, Any], picture: Callable[[str], bytes]) -> Suite:
    """The Suite of a document without problems."""
    return Suite(
        takes=tuple(document.get("takes", ())),
        requests=tuple(request_of(row) for row in document["requests"]),
        limits={name: float(value) for name, value in document.get("limits", {}).items()},
        not_required={row["check"]: row["reason"] for row in document.get("notRequired", ())},
        latency_tokens=tuple(document.get("latencyTokens", LATENCY_TOKENS)),
        soak_s=float(document.get("soakS", 0)),
        picture=picture,
    )


def request_of(row: Mapping[str, Any]) -> Request:
    apart = ("name", "kind", "expect", "required")
    return Request(
        row["name"], row["kind"], {k: v for k, v in row.items() if k not in apart}, row.get("expect", {}), row.get("required", True)
    )


def spec_problems(asked: Mapping[str, Any], locate: Callable[[str], Where]) -> Iterator[Problem]:
    """What is wrong with `validation` in release.yaml, as far as it can be seen without other files."""

    def where(pointer: str) -> Where:
        head, _, rest = pointer.removeprefix("/").partition("/")
        named = {"requests": "checks", "soakS": "soak_s", "latencyTokens": "latency_tokens"}.get(head, head)
        return locate(f"/validation/{named}" + (f"/{rest}" if rest else ""))

    given = {ours: asked[key] for key, ours in (("soak_s", "soakS"), ("latency_tokens", "latencyTokens")) if key in asked}
    document = {"schemaVersion": VERSION, "requests": list(asked.get("checks", ())), "limits": asked.get("limits", {}), **given}
    yield from problems_of(document, where)


# ---------------------------------------------------------------------------------------------------- what a release takes


def takes_of(spec: Mapping[str, Any], config: Mapping[str, Any], files: frozenset[str], tokenizer: Mapping[str, Any]) -> tuple[str, ...]:
    """What a release takes by release.yaml, else by what its files show. Empty where they show nothing that can be asked."""
    asked = spec.get("validation") if isinstance(spec.get("validation"), dict) else {}
    if asked and asked.get("takes"):
        return tuple(kind for kind in KINDS if kind in asked["takes"])
    runtime = spec.get("runtime")
    if isinstance(runtime, dict) and runtime.get("kind") == "sm120":
        return ("decision",)
    if not any(str(name).endswith(("ForCausalLM", "ForConditionalGeneration")) for name in names(config.get("architectures"))):
        return ()
    if not ({"chat_template.jinja", "chat_template.json"} & files or "chat_template" in tokenizer):
        return ("completion",)
    sees = "vision_config" in config and {"preprocessor_config.json", "processor_config.json"} & files
    return ("chat", "image", "streaming") if sees else ("chat", "streaming")


def names(value: object) -> list[object]:
    return value if isinstance(value, list) else []
