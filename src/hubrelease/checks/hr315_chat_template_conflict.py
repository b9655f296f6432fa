"""chat_template.jinja and the key chat_template of tokenizer_config.json hold different templates.

Why it matters: newer readers take the file, older ones the key: one release, two prompts, and scores that nobody can repeat.
Mend: Keep one of them, or make the key equal to the file.
Source: huggingface/transformers tokenization_utils_base.py (5.24.0), which lets the file replace the key.

A warning. Line ends and blanks at the ends of lines are not compared; a processor's template is another one by right.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.chat_templates import Template, home, templates
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    found = [t for t in templates(release) if t.text is not None]
    for folder in sorted({home(t) for t in found}):
        own = [t for t in found if home(t) == folder]
        file = next((t for t in own if t.file.rpartition("/")[2] == "chat_template.jinja"), None)
        key = next((t for t in own if t.file.endswith("tokenizer_config.json") and is_default(release, t)), None)
        if file and key and plain(file) != plain(key):
            message = f"differs from {file.file}: readers differ in which of the two they take"
            yield CHECK.problem(Where(key.file, pointer=key.pointer), message, "keep one of them, or make them equal", severity="warning")


def is_default(release: Release, template: Template) -> bool:
    """True for the one template, or the one named default."""
    value = release.config(template.file).get("chat_template")
    if isinstance(value, str):
        return True
    rows = value if isinstance(value, list) else []
    return any(isinstance(r, dict) and r.get("name") == "default" and r.get("template") == template.text for r in rows)


def plain(template: Template) -> list[str]:
    return [line.rstrip() for line in (template.text or "").strip().splitlines()]


CHECK = Check("HR315", "chat-template-conflict", "two templates", run)
