"""A preview that runs, asked over real sockets as a browser would, or as somebody would who is not welcome."""

from __future__ import annotations

import json
import shutil
import socket
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hubrelease.preview.converter import Converter
from hubrelease.preview.live import Live
from hubrelease.preview.pages import find

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "minilm"
FRONT = "---\nlicense: apache-2.0\npipeline_tag: text-generation\ntags: [one, two]\n---\n"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


def png(width: int = 2, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x20\x80\xd0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def example(root: Path) -> Path:
    """A copy of examples/minilm: release.yaml, lock, receipts."""
    shutil.copytree(EXAMPLE, root)
    return root


def card(root: Path, body: str, **files: bytes) -> Path:
    """A folder with a README.md; `__` in a keyword stands for a dot."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "README.md").write_text(FRONT + body, "utf-8")
    for name, data in files.items():
        (root / name.replace("__", ".")).write_bytes(data)
    return root


TEMPLATE = """---
{{ front_matter }}---
# {{ title | md }}

{% for table in tables %}
| {% for column in table.columns %}{{ column | md }} | {% endfor %}

|{% for column in table.columns %}---|{% endfor %}

{% for row in table.rows %}
| {% for cell in row %}{{ cell.shown | md }} | {% endfor %}

{% endfor %}
{% endfor %}
"""
SPEC: dict[str, Any] = {
    "schema": 1, "name": "owner/tiny", "version": "1.0.0", "license": "apache-2.0", "weights": {"format": "as-is"},
    "benchmarks": [{"receipt": "r.json"}],
    "card": {"title": "A title", "template": "own.j2", "tables": [{"title": "Scores", "columns": ["task", "score"],
             "rows": [["gsm8k", {"receipt": "benchmarks/r.json", "pointer": "/score", "as": "percent", "decimals": 2}]]}]},
}  # fmt: skip


def small(root: Path) -> Path:
    """A release.yaml with one figure and a short template of its own, which is compiled in no time."""
    root.mkdir(parents=True)
    (root / "release.yaml").write_text(json.dumps(SPEC))
    (root / "own.j2").write_text(TEMPLATE)
    (root / "r.json").write_text('{"score": 0.4379}')
    return root


CONVERTER = Converter()  # one child for all tests: it takes half a second to start


@contextmanager
def running(folder: Path, converter: Converter = CONVERTER) -> Iterator[Live]:
    """A preview of `folder`. Nobody watches: `look()` is what the command does again and again."""
    made = Live(find(folder), 0, converter)
    try:
        yield made
    finally:
        made.board.close()
        made.server.shutdown()
        made.server.server_close()


def ask(page: Live, path: str = "", *, method: str = "GET", **headers: str) -> Answer:
    """One request below the preview's own address; `path` goes out as it is. `Host=` replaces the right one."""
    return ask_at(page, urlsplit(page.url).path + path, method=method, **headers)


def ask_at(page: Live, target: str, *, method: str = "GET", **headers: str) -> Answer:
    lines = {"Host": f"127.0.0.1:{page.server.port}", **{key.replace("_", "-"): value for key, value in headers.items()}}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items() if value)
    return talk(page, f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))


def talk(page: Live, request: bytes) -> Answer:
    """Sends bytes and reads to the end."""
    with socket.create_connection(("127.0.0.1", page.server.port), timeout=10) as line:
        line.sendall(request)
        data = b"".join(iter(lambda: line.recv(65536), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    fields = (row.partition(": ") for row in rest)
    return Answer(int(first.split()[1]) if first else 0, {key.lower(): value for key, _, value in fields}, body)


def shown(folder: Path, view: str = "", converter: Converter = CONVERTER) -> dict[str, Any]:
    with running(folder, converter) as page:
        return ask(page, f"state?view={view}").json
