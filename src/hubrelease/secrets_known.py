"""What tokens and keys of the usual services look like, and what merely stands for one in a document.

A rule begins with letters that are looked for first with a plain search, so that a text without them costs next to nothing.
No expression can be made to run long: a repeat that may fail is bounded, or its text can't hold the rule's beginning again.
Forms are those that the services document. A finding never shows more than four characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

MOST = 50  # findings in one text
TRIES = 100_000  # matches of one rule that are looked at; a text with more is made to be slow
SHOWN = 4
BEFORE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class Token(NamedTuple):
    """A token that tells its service by how it begins. It is none where it goes on a longer word."""

    service: str
    begin: bytes
    form: re.Pattern[bytes]


class Found(NamedTuple):
    service: str
    position: int
    shown: str


WORD, URL, HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"
FORMS: dict[str, dict[str, str]] = {
    "Hugging Face": {"hf_": f"{WORD}{{30,64}}", "api_org_": f"{WORD}{{30,64}}"},
    "GitHub": {**{f"gh{c}_": f"{WORD}{{36,251}}" for c in "pousr"}, "github_pat_": f"{WORD}{{20,}}_{WORD}{{30,}}"},
    "GitLab": dict.fromkeys(("glpat-", "glrt-", "gldt-", "glptt-"), f"{URL}{{20,}}"),
    "Anthropic": {"sk-ant-": f"{URL}{{20,}}"},
    "OpenRouter": {"sk-or-v1-": f"{HEX}{{40,}}"},
    "OpenAI": {"sk-proj-": f"{URL}{{20,}}", "sk-svcacct-": f"{URL}{{20,}}", "sk-admin-": f"{URL}{{20,}}", "sk-": f"{WORD}{{32,}}"},
    "AWS": dict.fromkeys(("AKIA", "ASIA", "ABIA", "ACCA"), "[A-Z2-7]{16}"),
    "Google": {"AIza": f"{URL}{{35}}", "GOCSPX-": f"{URL}{{20,}}", "ya29.": f"{URL}{{20,}}"},
    "Slack": {**{f"xox{c}-": "[0-9A-Za-z-]{20,}" for c in "abposr"}, "xapp-": "[0-9]-[0-9A-Za-z-]{20,}"},
    "Stripe": {f"{a}_{b}_": f"{WORD}{{16,}}" for a in ("sk", "rk") for b in ("live", "test")},
    "npm": {"npm_": f"{WORD}{{36}}"},
    "PyPI": {"pypi-": f"AgE{URL}{{16,}}|{URL}{{80,}}"},
    "Docker Hub": {"dckr_pat_": f"{URL}{{20,}}"},
    "Replicate": {"r8_": f"{WORD}{{37}}"},
    "Groq": {"gsk_": f"{WORD}{{40,}}"},
    "xAI": {"xai-": f"{WORD}{{40,}}"},
    "Perplexity": {"pplx-": f"{WORD}{{40,}}"},
    "NVIDIA": {"nvapi-": f"{URL}{{40,}}"},
    "RunPod": {"rpa_": f"{WORD}{{40,}}"},
    "LangSmith": {"lsv2_": f"(?:pt|sk)_{HEX}{{32}}_{HEX}{{10}}"},
    "Databricks": {"dapi": f"{HEX}{{32}}(?:-[0-9])?"},
    "Weights & Biases": {"wandb_v1_": f"{URL}{{40,}}"},
    "Kaggle": {"KGAT_": f"{HEX}{{32}}"},
    "Pinecone": {"pcsk_": f"{URL}{{40,}}"},
    "SendGrid": {"SG.": f"{URL}{{22}}\\.{URL}{{43}}"},
    "DigitalOcean": {"dop_v1_": f"{HEX}{{64}}"},
    "Notion": {"ntn_": f"{WORD}{{40,}}"},
    "Linear": {"lin_api_": f"{WORD}{{40}}"},
    "Tavily": {"tvly-": f"{URL}{{20,}}"},
    "age": {"AGE-SECRET-KEY-1": "[0-9A-Z]{58}"},
}
TOKENS = tuple(
    Token(service, begin.encode(), re.compile(f"({re.escape(begin)}(?:{rest}))(?![A-Za-z0-9_])".encode()))
    for service, forms in FORMS.items()
    for begin, rest in forms.items()
)

SERVICES = re.compile(
    rb"(?i)(openai|anthropic|cohere|mistral|groq|together|fireworks|replicate|wandb|comet|neptune|kaggle|azure|aws|(?<![a-z])hf|hugging_?face"
    rb"|gemini|google|deepseek|dashscope|modelscope|baseten|modal|runpod|ngrok|sentry|slack|telegram|discord)\w{0,30}$"
)
ASSIGNED = re.compile(rb"(?i)_(?:key|token|secret)[\"']?\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z0-9_./+=-]{20,200})")
AWS_SECRET = re.compile(rb"(?i)secret_?access_?key[\"'\s:=]{1,8}([A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])")
AZURE = re.compile(rb"AccountKey=([A-Za-z0-9+/]{60,200}={0,2})")
HOOKS = re.compile(rb"hooks\.slack\.com/services/(T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,40})")
WEBHOOK = re.compile(rb"/api/webhooks/[0-9]{10,30}/([A-Za-z0-9_-]{40,100})")
TELEGRAM = re.compile(rb"(?<![0-9])([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])")
NETRC = re.compile(rb"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(\S{6,200})")
NPM = re.compile(rb"(?<!/localhost:[0-9]{4}/:)_authToken\s{0,4}=\s{0,4}([A-Za-z0-9_-]{20,200})")
WANDB_KEY = re.compile(rb"(?<![0-9a-f@/])([0-9a-f]{40})(?![0-9a-f])")
WANDB_NEAR = re.compile(rb"(?is)wandb.{0,60}(key|login|password|token|secret)")
JWT = re.compile(rb"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,2000})")
AROUND = (
    ("AWS", b"access", AWS_SECRET), ("Azure storage", b"AccountKey=", AZURE), ("Slack", b"hooks.slack.com/", HOOKS),
    ("Discord", b"/api/webhooks/", WEBHOOK), ("Telegram", b":AA", TELEGRAM), ("netrc", b"machine", NETRC), ("npm", b"_authToken", NPM),
    ("JSON Web Token", b".eyJ", JWT),
)  # fmt: skip
PRIVATE_KEY = re.compile(
    rb"-----BEGIN ([A-Z0-9 ]{0,30})PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:\\n|\\r|\s|[A-Za-z-]{1,30}: [^\n]{0,200}\n){1,12}[A-Za-z0-9+/=\\\s]{60}"
)
PUTTY = re.compile(rb"PuTTY-User-Key-File-[23]: [^\n]{1,100}\n")
URL_PASSWORD = re.compile(rb"://([^\s/:@\"'<>{}$]{1,100}):([^\s/@\"'<>]{3,200})@([A-Za-z0-9.-]{1,200})")

PLACEHOLDER = re.compile(
    rb"(?i)xxx|\*\*|\.\.\.|your|example|placeholder|redacted|insert|changeme|replace|dummy|<|>|\$\{|\{\{|%\(|environ|getenv|secrets\."
    rb"|123456789|abcdefgh"
)
WORDS = frozenset(b"pass password passwd pwd pw secret token user username postgres root admin guest test".split())
NO_HOST = re.compile(rb"(?i)localhost|127\..*|0\.0\.0\.0|(.*\.)?example(\.(com|org|net))?|host|hostname|proxy|db|redis|postgres")
ENV_FILE = re.compile(r"(.*/)?\.env(\.(?!example|sample|template|dist)\w+)?")
ENV_LINE = re.compile(
    rb"(?im)^[ \t]{0,8}(?:export[ \t]+)?\w{0,60}(?:key|token|secret|password|passwd)\w{0,20}[ \t]{0,4}=[ \t]{0,4}[\"']?([^\s\"'#]{8,300})"
)
KAGGLE = re.compile(rb"\"key\"\s{0,4}:\s{0,4}\"([0-9a-f]{32})\"")
JWT_IO = b"eyJzdWIiOiIxMjM0NTY3ODkw"  # of the example token of jwt.io


def secrets(data: bytes, file: str = "", plain: bool = False) -> Iterator[Found]:
    """What of a text looks like a secret, at most MOST times, each place once. `plain`: only tokens that tell their service."""
    seen: set[int] = set()
    for service, position, secret in candidates(data, file, plain):
        if position not in seen and not is_placeholder(secret):
            seen.add(position)
            yield Found(service, position, secret[:SHOWN].decode("ascii", "replace"))
        if len(seen) >= MOST:
            return


def candidates(data: bytes, file: str, plain: bool) -> Iterator[tuple[str, int, bytes]]:
    for token in TOKENS:
        if token.begin in data:
            matches = (m for m in tries(token.form, data) if m.start() == 0 or data[m.start() - 1] not in BEFORE)
            yield from ((token.service, m.start(1), m[1]) for m in matches)
    yield from private_keys(data)
    if plain:
        return
    for service, word, form in AROUND:
        if word in data:
            yield from ((service, m.start(1), m[1]) for m in tries(form, data) if looks_random(m[1]))
    if b"://" in data:
        yield from url_passwords(data)
    if b"wandb" in data.lower():
        near = (m for m in tries(WANDB_KEY, data) if WANDB_NEAR.search(data, max(m.start() - 100, 0), m.start()))
        yield from (("Weights & Biases", m.start(1), m[1]) for m in near)
    assigned = (m for m in tries(ASSIGNED, data) if looks_random(m[1]) and SERVICES.search(data, max(m.start() - 60, 0), m.start()))
    yield from (("named key", m.start(1), m[1]) for m in assigned)
    yield from by_file(data, file)


def tries(form: re.Pattern[bytes], data: bytes) -> Iterator[re.Match[bytes]]:
    return islice(form.finditer(data), TRIES)


def private_keys(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    if b"PRIVATE KEY" in data:
        yield from (("private key", m.start(), b"----") for m in tries(PRIVATE_KEY, data))
    if b"PuTTY-User-Key-File" in data:
        yield from (("PuTTY private key", m.start(), b"PuTT") for m in tries(PUTTY, data))


def url_passwords(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Passwords in addresses; words that stand for one, and hosts that nobody else can reach, are no secrets."""
    for match in tries(URL_PASSWORD, data):
        user, password, host = match[1].lower(), match[2], match[3]
        if password.lower() not in WORDS | {user} and password[:1] not in b"$%{<*" and not NO_HOST.fullmatch(host):
            yield "address with a password", match.start(2), password


def by_file(data: bytes, file: str) -> Iterator[tuple[str, int, bytes]]:
    """In files that exist to hold secrets, a plain assignment is one."""
    if file.rpartition("/")[2] == "kaggle.json":
        yield from (("Kaggle", m.start(1), m[1]) for m in tries(KAGGLE, data))
    if ENV_FILE.fullmatch(file):
        yield from (("environment file", m.start(1), m[1]) for m in tries(ENV_LINE, data) if m[1][:1] not in b"$<{")


def looks_random(secret: bytes) -> bool:
    """True for letters and digits in one: a path and `your-api-key-here` are not."""
    return any(48 <= c <= 57 for c in secret) and any(c > 64 for c in secret) and secret[:1] not in b"/."


def is_placeholder(secret: bytes) -> bool:
    """True for what stands for a secret in a document: few different characters, or a word that says so."""
    return (len(secret) > 8 and len(set(secret[-12:])) < 4) or PLACEHOLDER.search(secret) is not None or JWT_IO in secret
