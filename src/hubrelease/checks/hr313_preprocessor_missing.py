"""A model that sees or hears comes without the files of its processor.

Why it matters: AutoProcessor fails, and with it every runtime; only the weights of such a release can be used.
Mend: Copy preprocessor_config.json, processor_config.json and their kin from the base.
Source: vllm-project/llm-compressor issue 1305; hiyouga/EasyR1 PR 48; jundot/omlx PR 1386.

Mistral's own format keeps the processor in tekken.json and params.json, and classes with code of their own may need no
file: those are judged by the base's list alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.base_files import lost_files
from hubrelease.checks import Check
from hubrelease.checks.hr306_vision_missing import SEES, is_text_only
from hubrelease.errors import Problem, Where
from hubrelease.models import Model, as_mapping
from hubrelease.release import Release

FILES = ("preprocessor_config.json", "processor_config.json", "image_processor_config.json")
LISTED = (*FILES, "video_preprocessor_config.json", "feature_extractor_config.json")
HEARS = frozenset(("whisper", "wav2vec2", "hubert", "qwen2_audio", "seamless_m4t", "speech_to_text", "moonshine", "voxtral"))
LOOKS = ("ForImageClassification", "ForObjectDetection", "ForSemanticSegmentation", "ForDepthEstimation", "ForImageSegmentation")
MEND = "copy the processor's files from the base"


def run(release: Release) -> Iterator[Problem]:
    lost = sorted(name for name in lost_files(release) if name in LISTED)
    for model in release.models:
        here = [name for name in FILES if model.path(name) in release.files or model.path(name) in release.missing]
        if here or model.weights is None:
            continue
        if why := needs_processor(model):
            message = f"{why}, and the release has no {FILES[0]} or {FILES[1]}"
            yield CHECK.problem(Where(model.config_file, pointer="/architectures"), message, MEND)
            return
    if lost and release.containers.main and not (lost == ["video_preprocessor_config.json"] and "processor_config.json" in release.files):
        yield CHECK.problem("config.json", f"the base has {lost[0]}, and the release has not", MEND)


def needs_processor(model: Model) -> str | None:
    """Why the model needs one, or None."""
    if as_mapping(model.config.get("auto_map")) or model.path("tekken.json") in model.release.files or is_text_only(model):
        return None
    if as_mapping(model.config.get("vision_config")) and any(SEES.search(name) for name in model.all_names):
        return f"{model.architecture or 'the model'} has a vision tower" if not model.architecture.endswith("ForCausalLM") else None
    if model.model_type in HEARS:
        return f"{model.architecture or model.model_type} hears"
    return f"{model.architecture} looks at images" if model.architecture.endswith(LOOKS) else None


CHECK = Check("HR313", "preprocessor-missing", "no processor files", run)
