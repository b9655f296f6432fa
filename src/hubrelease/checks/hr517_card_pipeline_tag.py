"""The card's pipeline_tag is none of the Hub's tasks.

Why it matters: the model is listed under no task, and gets no widget and no snippet.
Mend: Write a task id such as text-generation or image-text-to-text.
Source: huggingface/huggingface.js packages/tasks/src/pipelines.ts; hub-docs docs/hub/model-cards.md. An unknown task is a
warning, for the list grows and the Hub takes custom ones; a value that is no text is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import is_blank, kind_of
from hubrelease.hub_lists import nearest, pipeline_tags
from hubrelease.release import Release
from hubrelease.strict_yaml import Scalar


def run(release: Release) -> Iterator[Problem]:
    node = release.card.front.get("pipeline_tag") if release.card else None
    if release.card is None or node is None:
        return
    where = Where(FILE, release.card.front.line("pipeline_tag"), "/pipeline_tag")
    if is_blank(node):
        yield CHECK.problem(where, "pipeline_tag has no value", "write a task id, or leave the key out")
    elif not isinstance(node, Scalar) or kind_of(node) != "string":
        yield CHECK.problem(where, f"pipeline_tag is a {kind_of(node)}, not one task id", "write one task id, such as text-generation")
    elif node.text not in pipeline_tags():
        near = nearest(node.text.replace("_", "-").replace(" ", "-"), pipeline_tags())
        mend = f"write {near}" if near else "write a task id such as text-generation"
        yield CHECK.problem(where, f'pipeline_tag "{node.text[:60]}" is none of the Hub\'s tasks', mend, severity="warning")


CHECK = Check("HR517", "card-pipeline-tag", "unknown task", run)
