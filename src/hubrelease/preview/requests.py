"""Which requests the preview answers. A page elsewhere, or a name that resolves to this machine (DNS rebinding), gets nothing.

Loopback is no border: any page in the browser can send a request to it. So the Host must be this server's own address, the
path must begin with a token that only this run knows, and a browser must not say that another site asks.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

MAX_TARGET = 4096


class Asked(NamedTuple):
    """`name` is page, state, events, file, text or an asset; `rest` the path behind it; `query` its first values."""

    name: str
    rest: str
    query: Mapping[str, str]


class Refusal(NamedTuple):
    status: int
    why: str


def hosts(port: int) -> frozenset[str]:
    return frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))


def judge(method: str, target: str, headers: Mapping[str, str | None], port: int, token: str) -> Asked | Refusal:
    """What a request asks for, or why it gets nothing. `headers` by their names in lower case."""
    if (headers.get("host") or "").lower() not in hosts(port):
        return Refusal(421, "this is not the host that you mean")
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts(port)}:
        return Refusal(403, "another site asks")
    if not is_own(headers):
        return Refusal(403, "another site asks")
    if method not in ("GET", "HEAD"):
        return Refusal(405, "only GET and HEAD")
    return routed(target, token)


def is_own(headers: Mapping[str, str | None]) -> bool:
    """False where the browser says that a page elsewhere asks; a link to the whole page may be followed from anywhere."""
    if (headers.get("sec-fetch-site") or "none").lower() in ("none", "same-origin"):
        return True
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def routed(target: str, token: str) -> Asked | Refusal:
    if len(target) > MAX_TARGET or not target.startswith("/"):
        return Refusal(400, "not a path of this server")
    try:
        parts = urlsplit("http://preview" + target)
        query = {key: values[0] for key, values in parse_qs(parts.query, max_num_fields=20).items()}
        given, _, rest = parts.path[1:].partition("/")
        path = unquote(rest, errors="strict")
    except ValueError:
        return Refusal(400, "not a path of this server")
    if not hmac.compare_digest(given.encode(), token.encode()):
        return Refusal(404, "nothing here; open the address that the command printed")
    name, _, below = path.partition("/")
    return Asked(name or "page", below, query)
