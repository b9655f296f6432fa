"""Large files: pointers in git, objects in a folder laid out as .git/lfs/objects, and the upload protocol.

An object is taken in only when its sha256 and size are what was announced. The object routes belong to another
origin than the Hub (localhost instead of 127.0.0.1) and need no token, like the signed addresses of a real store.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .messages import PIECE_BYTES, Answer, HubError, Request, json_answer

if TYPE_CHECKING:
    from .hub import Hub
    from .store import Repo

VERSION = b"version https://git-lfs.github.com/spec/v1\n"


@dataclass(frozen=True)
class Pointer:
    sha256: str
    size: int

    def encode(self) -> bytes:
        return VERSION + f"oid sha256:{self.sha256}\nsize {self.size}\n".encode()


def decode_pointer(data: bytes) -> Pointer | None:
    """The pointer that a blob is, or None when it is a file of its own."""
    if len(data) > 200 or not data.startswith(VERSION + b"oid sha256:"):
        return None
    fields = dict(line.split(" ", 1) for line in data.decode().splitlines())
    return Pointer(fields["oid"].removeprefix("sha256:"), int(fields["size"]))


def read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class LargeObjects:
    """Objects by sha256, and the parts of uploads under way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts = folder / "parts"

    def path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256[2:4] / sha256

    def has(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def take(self, pieces: Iterable[bytes], expected: str | None = None) -> Pointer:
        """Store an object while hashing it. HubError 400 when it is not the expected one."""
        self._parts.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with tempfile.NamedTemporaryFile(dir=self._parts, delete=False) as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
            pointer = Pointer(digest.hexdigest(), file.tell())
        if expected not in (None, pointer.sha256):
            os.unlink(file.name)
            raise HubError(400, f"The sha256 of the object is {pointer.sha256}, not {expected}")
        self.path(pointer.sha256).parent.mkdir(parents=True, exist_ok=True)
        os.replace(file.name, self.path(pointer.sha256))
        return pointer

    def take_part(self, sha256: str, number: int, pieces: Iterable[bytes]) -> str:
        """Store one part; its ETag."""
        folder = self._parts / sha256
        folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with (folder / str(number)).open("wb") as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        return digest.hexdigest()

    def join(self, sha256: str, etags: list[str]) -> Pointer:
        """Make an object of its parts. HubError 400 when a part is missing or the whole has another sha256."""
        folder = self._parts / sha256
        paths = [folder / str(number) for number in range(1, len(etags) + 1)]
        for path, etag in zip(paths, etags, strict=True):
            if not path.is_file() or sha256_of(path) != etag.strip('"'):
                raise HubError(400, f"Part {path.name} was not received")
        pointer = self.take((piece for path in paths for piece in read_pieces(path)), sha256)
        shutil.rmtree(folder)
        return pointer


def batch(hub: Hub, request: Request, repo: Repo) -> Answer:
    """Which objects are wanted and where to; one that is here gets no actions, which is how an upload resumes."""
    wanted = request.json()
    may_split = "multipart" in wanted.get("transfers", [])
    return json_answer({"objects": [_plan(hub, repo, item, may_split) for item in wanted["objects"]]})


def _plan(hub: Hub, repo: Repo, item: dict[str, Any], may_split: bool) -> dict[str, Any]:
    oid, size = item["oid"], item["size"]
    if repo.large.has(oid):
        return {"oid": oid, "size": size}
    address = f"{hub.store_url}/objects/{repo.id}/{oid}"
    upload: dict[str, Any] = {"href": address}
    if may_split and size > hub.part_bytes:
        parts = range(1, math.ceil(size / hub.part_bytes) + 1)
        upload["header"] = {str(number): f"{address}/{number}" for number in parts}
        upload["header"]["chunk_size"] = str(hub.part_bytes)
    verify = {"href": f"{hub.endpoint}/{repo.id}.git/info/lfs/objects/verify"}
    return {"oid": oid, "size": size, "actions": {"upload": upload, "verify": verify}}


def verify(hub: Hub, request: Request, repo: Repo) -> Answer:
    item = request.json()
    if not repo.large.has(item["oid"]) or repo.large.path(item["oid"]).stat().st_size != item["size"]:
        raise HubError(404, "Object not found or of another size")
    return json_answer({})


def put_object(hub: Hub, request: Request, repo: Repo, oid: str) -> Answer:
    repo.large.take(request.body, oid)
    return json_answer({}, ETag=f'"{oid}"')


def put_part(hub: Hub, request: Request, repo: Repo, oid: str, number: str) -> Answer:
    return json_answer({}, ETag=f'"{repo.large.take_part(oid, int(number), request.body)}"')


def complete(hub: Hub, request: Request, repo: Repo, oid: str) -> Answer:
    parts = sorted(request.json()["parts"], key=lambda part: part["partNumber"])
    repo.large.join(oid, [part["etag"] for part in parts])
    return json_answer({})


def get_object(hub: Hub, request: Request, repo: Repo, oid: str) -> Answer:
    """The bytes, which for an object that came by Xet are first put together by hf_xet itself."""
    if not repo.large.has(oid):
        with repo.xet.rebuilt(oid) as path:
            repo.large.take(read_pieces(path), oid)
    return Answer(200, repo.large.path(oid), {"ETag": f'"{oid}"', "Accept-Ranges": "bytes"})
