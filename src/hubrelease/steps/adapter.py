"""A PEFT adapter beside the weights: tensors byte for byte; in its config, the base by public name and commit.

PEFT writes the folder of the training machine into base_model_name_or_path and leaves revision empty (formats.md F).
The adapter's own card holds the same path and is left behind; ours names the base.
"""

from __future__ import annotations

from typing import Any

from hubrelease import canonical, disclosure
from hubrelease.errors import CheckFailed, problem
from hubrelease.steps import Build
from hubrelease.tree import Copy
from hubrelease.verify_release import strict_json

CONFIG = "adapter_config.json"
LEFT_BEHIND = ("README.md", ".gitattributes")


class Adapter:
    name = "adapter"

    def skip(self, build: Build) -> str | None:
        return None if build.spec.adapter else "no adapter in release.yaml"

    def run(self, build: Build) -> None:
        adapter = build.spec.adapter
        assert adapter is not None
        files = [f for f in build.sources.files(adapter.source) if f.path not in LEFT_BEHIND]
        config = next((f for f in files if f.path == CONFIG), None)
        if config is None:
            where = build.spec.where("/adapter/source")
            raise CheckFailed(
                problem(
                    "weights-unusable",
                    where,
                    f'the source "{adapter.source}" has no {CONFIG}',
                    "correct adapter.source or its path",
                )
            )
        build.tree.copy_all([Copy(f"{adapter.to}/{f.path}", f) for f in files if f is not config], "adapter")
        build.tree.put(f"{adapter.to}/{CONFIG}", canonical.dumps(public_config(build, config.read())))


def public_config(build: Build, data: bytes) -> dict[str, Any]:
    adapter = build.spec.adapter
    assert adapter is not None
    try:
        config = strict_json(data)
    except ValueError as error:
        raise CheckFailed(
            problem("weights-unusable", f"{adapter.source}:{CONFIG}", f"is not JSON: {error}", "fetch the adapter again")
        ) from None
    if not isinstance(config, dict):
        raise CheckFailed(problem("weights-unusable", f"{adapter.source}:{CONFIG}", "is not a JSON object", "fetch the adapter again"))
    base = build.sources.lock.source(adapter.base_model)
    if base is None or base.kind != "hf":
        where = build.spec.where("/adapter")
        message = f'the adapter\'s base "{adapter.base_model}" is no repository of the Hub, so the adapter could not name it'
        raise CheckFailed(problem("source-invalid", where, message, "set adapter.base_model to an hf: source"))
    if base.name in disclosure.hidden(build.spec, build.sources.lock):
        where = build.spec.where("/adapter")
        message = f'the adapter has to name its base "{base.name}", which is private'
        raise CheckFailed(problem("source-undisclosed", where, message, f"list {base.name} under publish.disclose, or take a public base"))
    return {**config, "base_model_name_or_path": base.request["hf"], "revision": base.revision}
