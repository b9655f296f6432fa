"""config.json has a vision_config, and no tensor stands under the names of a vision tower.

Why it matters: the tower would be filled with random numbers: the model answers, but sees nothing.
Mend: Save the tower under the name that the class has; for a text-only model take vision_config out and name the text class.
Source: huggingface/transformers issue 45357.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import Model, as_mapping
from hubrelease.release import Release

PREFIXES = {
    "qwen2_vl": ("visual.", "model.visual."), "qwen2_5_vl": ("visual.", "model.visual."),
    "qwen3_vl": ("model.visual.", "visual."), "qwen3_vl_moe": ("model.visual.", "visual."),
    "qwen3_5": ("model.visual.", "visual."), "qwen3_5_moe": ("model.visual.", "visual."),
    "glm4v": ("model.visual.", "visual."), "glm4v_moe": ("model.visual.", "visual."), "glm5_next": ("model.visual.",),
    "gemma3": ("vision_tower.", "model.vision_tower."), "llava": ("vision_tower.", "model.vision_tower."),
    "llava_next": ("vision_tower.", "model.vision_tower."), "mistral3": ("vision_tower.", "model.vision_tower."),
    "paligemma": ("vision_tower.", "model.vision_tower."), "idefics3": ("model.vision_model.",), "smolvlm": ("model.vision_model.",),
    "mllama": ("vision_model.", "model.vision_model."), "llama4": ("vision_model.", "model.vision_model."),
}  # fmt: skip
SEES = re.compile(r"(^|[._])(visual|vision\w*|vit|vpm|img\w*|image\w*|patch_embed\w*|patch_conv\w*|siglip\w*|clip\w*)([._]|$)")
TOWER = re.compile(r"(^|.*?\.)(visual|vision_tower|vision_model|vision_encoder|vision)\.")


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        if not model.whole or not as_mapping(model.config.get("vision_config")) or is_text_only(model):
            continue
        prefixes = PREFIXES.get(model.model_type, ())
        if model.is_mlx or not prefixes:  # mlx moves the towers about, and other classes have names of their own
            if not any(SEES.search(name) for name in model.all_names):
                yield found(model, "any name of a vision tower", None)
        elif not any(name.startswith(prefixes) for name in model.all_names):
            yield found(model, " or ".join(prefixes), near(model))


def is_text_only(model: Model) -> bool:
    """True where the class, or a flag, says that only the language model is meant."""
    text_class = model.architecture.endswith("ForCausalLM") and model.model_type.endswith("_text")
    return text_class or model.config.get("language_model_only") is True or model.text.get("language_model_only") is True


def near(model: Model) -> str | None:
    """The prefix under which something like a tower is."""
    return next((match[0] for name in sorted(model.all_names) if (match := TOWER.match(name))), None)


def found(model: Model, wanted: str, instead: str | None) -> Problem:
    where = Where(model.weights_file, tensor=next((n for n in sorted(model.names) if instead and n.startswith(instead)), None))
    message = f"has no tensor under {wanted}, though {model.config_file} has a vision_config"
    if instead:
        message += f"; the tower seems to be under {instead}*"
    return CHECK.problem(
        where, message, f"save the tower under {wanted}" if instead else "save the vision tower, or take vision_config out"
    )


CHECK = Check("HR306", "vision-missing", "no vision tower", run)
