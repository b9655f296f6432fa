"""A file holds an access token, a private key or a password.

Why it matters: once published it counts as stolen, also after a later commit removes it; the Hub refuses the commit at the end.
Mend: Revoke it at the service first, then take it out and read it from the environment.
Source: huggingface/autotrain-advanced issue 762; OpenLLM-Ro/llama-recipes issue 1.

Text files up to 16 MiB, notebooks, the metadata of safetensors and GGUF headers. What merely stands for a secret (hf_xxx,
<token>, ${TOKEN}) is none. At most four characters are shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.secrets_known import secrets
from hubrelease.texts import is_vocabulary, texts


def run(release: Release) -> Iterator[Problem]:
    for text in texts(release):
        for found in secrets(text.data, text.file, is_vocabulary(text.file)):
            what = found.service if found.service in KINDS else f"{found.service} secret"
            message = f"holds what looks like a {what}: {found.shown}…"
            where = Where(text.file, text.line(found.position), text.pointer)
            yield CHECK.problem(where, message, "revoke it first, then take it out and read it from the environment")


KINDS = ("private key", "PuTTY private key", "address with a password", "JSON Web Token", "named key")
CHECK = Check("HR430", "secret", "secret", run, waivable=False)
