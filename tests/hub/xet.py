"""Xet without a server for it: hf_xet 1.8.0 accepts `local://FOLDER` as the address of its store.

It then reads and writes that folder itself, with the code it has for its own tests. Its database takes one
process at a time, so each repository has a folder of its own and tests with Xet on do not run side by side.
A commit names only sha256s; the Xet hash of each is in its shards (shards/*.mdb), whose layout `read_shard` follows.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .messages import Answer, HubError, Request, json_answer

if TYPE_CHECKING:
    from .hub import Hub
    from .store import Repo

RECORD_BYTES = 48
HAS_VERIFICATION, HAS_METADATA = 1 << 31, 1 << 30
LAST_RECORD = b"\xff" * 32

REBUILD = """
import sys
from hf_xet import XetFileInfo, XetSession
address, xet_hash, size, path = sys.argv[1:]
with XetSession().new_file_download_group(endpoint=address) as group:
    group.start_download_file(XetFileInfo(xet_hash, int(size)), path)
"""


def hash_text(raw: bytes) -> str:
    """How Xet prints a hash: four little-endian 64-bit words."""
    return "".join(f"{word:016x}" for word in struct.unpack("<4Q", raw))


def read_shard(data: bytes) -> Iterator[tuple[str, str, int]]:
    """(sha256, Xet hash, size in bytes) of each file of a shard that tells its sha256."""
    at = RECORD_BYTES
    while at < len(data) and (file_hash := data[at : at + 32]) != LAST_RECORD:
        flags, count = struct.unpack_from("<2I", data, at + 32)
        segments = at + RECORD_BYTES
        size = sum(struct.unpack_from("<I", data, segments + n * RECORD_BYTES + 36)[0] for n in range(count))
        at = segments + count * RECORD_BYTES * (2 if flags & HAS_VERIFICATION else 1)
        if flags & HAS_METADATA:
            yield hash_text(data[at : at + 32]), hash_text(file_hash), size
            at += RECORD_BYTES


class XetFolder:
    """The store of one repository, as far as a Hub has to know it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._read: set[Path] = set()
        self._known: dict[str, tuple[str, int]] = {}

    @property
    def address(self) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        return f"local://{self._folder}"

    def find(self, sha256: str) -> tuple[str, int] | None:
        """Xet hash and size of an object. A shard never changes, so each is read once."""
        with self._lock:
            if sha256 not in self._known:
                for path in sorted(set(self._folder.rglob("shards/*.mdb")) - self._read):
                    self._known |= {sha: (xet, size) for sha, xet, size in read_shard(path.read_bytes())}
                    self._read.add(path)
            return self._known.get(sha256)

    @contextmanager
    def rebuilt(self, sha256: str) -> Iterator[Path]:
        """The object as a temporary file. HubError 404 when it is not here, 503 when hf_xet cannot give it now."""
        found = self.find(sha256)
        if found is None:
            raise HubError(404, "Object not found")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "object"
            command = [sys.executable, "-c", REBUILD, self.address, found[0], str(found[1]), str(path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise HubError(503, f"hf_xet could not rebuild the object: {done.stderr.strip()[-300:]!r}")
            yield path


def token(hub: Hub, request: Request, repo: Repo, rev: str) -> Answer:
    """Where the store is. hf_xet reads the JSON, huggingface_hub the headers."""
    expires = int(time.time()) + 3600
    value = {"casUrl": repo.xet.address, "exp": expires, "accessToken": "local"}
    return json_answer(value, X_Xet_Cas_Url=repo.xet.address, X_Xet_Access_Token="local", X_Xet_Token_Expiration=str(expires))
