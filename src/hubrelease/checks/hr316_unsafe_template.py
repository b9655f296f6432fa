"""A chat template reaches for Python's inner attributes, which no template needs to format messages.

Why it matters: in a runtime that renders templates outside a sandbox, such a template runs code of its author's choice.
Mend: Use the base's template; don't render this one.
Source: CVE-2024-34359 (abetlen/llama-cpp-python, GHSA-56xg-wfcc-g829): code run from a GGUF file's chat template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from hubrelease.chat_templates import templates
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release

INNER = r"__(?:class|bases?|mro|subclasses|globals|builtins|import|getattribute|reduce(?:_ex)?|loader)__"
REACHES = re.compile(
    rf"\.\s?{INNER}|['\"]{INNER}['\"]|\b(?:os|subprocess)\.(?:system|popen|Popen|check_output)\s?\(|\blipsum\.|\bcycler\.__"
)
MOST = 100


def run(release: Release) -> Iterator[Problem]:
    for template in templates(release):
        text = template.text or ""
        hit = next((m for m in islice(REACHES.finditer(text), MOST) if is_inside_block(text, m.start())), None)
        if hit:
            line = text.count("\n", 0, hit.start()) + 1 if template.pointer is None else None
            message = f"uses {hit[0]!r}: code that no template needs, and that runs where it is rendered without a sandbox"
            yield CHECK.problem(Where(template.file, line, template.pointer), message, "use the base's template, and don't render this one")


def is_inside_block(text: str, at: int) -> bool:
    """True between {{ and }}, or {% and %}: outside of them it is text that is only printed."""
    opened = max(text.rfind("{{", 0, at), text.rfind("{%", 0, at))
    return opened >= 0 and max(text.rfind("}}", opened, at), text.rfind("%}", opened, at)) < 0


CHECK = Check("HR316", "unsafe-template", "template that reaches for code", run, waivable=False)
