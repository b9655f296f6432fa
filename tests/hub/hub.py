"""`Hub`: the server and everything a test may ask of it without HTTP.

Time is a counter that starts at a fixed moment, so the same calls give the same commit ids on every machine.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from . import client
from .commits import Change, is_large
from .faults import Fault, Faults
from .lfs import read_pieces
from .messages import User
from .server import Server
from .store import BRANCH, GIT_ATTRIBUTES, TAG, Repo

FIRST_SECOND = 1_767_225_600  # 2026-01-01T00:00:00Z
OWNER, TOKEN = "owner", "hf_local"
Content = bytes | Path


class Logged(NamedTuple):
    """`path` has its query; `status` is 0 when no answer was sent."""

    method: str
    path: str
    status: int


class Hub:
    """A Hub on a fresh port of 127.0.0.1, for a `with` statement.

    `requests` is the log; `leaks` are requests to the object store that brought a token along; an error of the
    server itself is raised when the `with` statement ends.
    """

    def __init__(self, *, large_bytes: int = 10 << 20, part_bytes: int = 20_000_000, page_size: int = 1000) -> None:
        self.large_bytes, self.part_bytes, self.page_size = large_bytes, part_bytes, page_size
        self.token = TOKEN
        self.users = {TOKEN: User(OWNER, "write")}
        self.repos: dict[str, Repo] = {}
        self.requests: list[Logged] = []
        self.leaks: list[str] = []
        self.crashes: list[str] = []
        self.faults = Faults()
        self._seconds = itertools.count(FIRST_SECOND)
        self._temporary = tempfile.TemporaryDirectory(prefix="hub-", ignore_cleanup_errors=True)
        self.root = Path(self._temporary.name)
        self._server = Server(self)
        port = self._server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{port}"
        # Another origin to the client, as a content network is: it must not send the token there.
        self.store_url = f"http://localhost:{port}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.stop()
        self._temporary.cleanup()
        if self.crashes and error is None:
            raise AssertionError("the local Hub itself failed:\n" + "\n".join(self.crashes))

    # For the server

    def clock(self) -> int:
        return next(self._seconds)

    def note(self, method: str, path: str, status: int) -> None:
        self.requests.append(Logged(method, path, status))

    # For tests

    def env(self, home: Path, *, xet: bool = False, offline: bool = False, token: str | None = TOKEN) -> dict[str, str]:
        """The environment for a client process; `home` is a folder of its own, made when it is not there."""
        home.mkdir(parents=True, exist_ok=True)
        return client.environment(self.endpoint, token, home, xet, offline)

    def user(self, name: str, role: str = "read") -> str:
        """The token of another user. With role read: public, open models only, and no writing."""
        self.users[f"hf_{name}"] = User(name, role)
        return f"hf_{name}"

    def create(self, repo: str, files: Mapping[str, Content] | None = None, *, private: bool = False, gated: bool = False) -> str:
        """A new model, as the real Hub makes it: one commit with .gitattributes. Then one with the files. The head."""
        self.repos[repo] = made = Repo(repo, self.root, self.clock, private, gated)
        blobs = {".gitattributes": made.objects.put("blob", GIT_ATTRIBUTES)}
        head = made.write(BRANCH + "main", blobs, (), OWNER, "initial commit")
        return self.commit(repo, files) if files else head

    def delete(self, repo: str) -> None:
        del self.repos[repo]
        for kind in ("models", "xet"):
            shutil.rmtree(self.root / kind / repo, ignore_errors=True)

    def commit(
        self,
        repo: str,
        files: Mapping[str, Content],
        *,
        branch: str = "main",
        deletes: Iterable[str] = (),
        message: str = "Add files",
    ) -> str:
        """Commit bytes or files of this disk as somebody else would; the new head."""
        kept = self.repos[repo]
        with kept.lock:
            head = kept.resolve(BRANCH + branch)
            change = Change(kept, kept.blobs(head))
            for path in deletes:
                change.delete(path)
            for path, content in files.items():
                self._add(change, head, path, content)
            return kept.write(BRANCH + branch, change.blobs, (head,), OWNER, message)

    def _add(self, change: Change, head: str, path: str, content: Content) -> None:
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        pieces = [content] if isinstance(content, bytes) else read_pieces(content)
        sample = content[:512] if isinstance(content, bytes) else next(iter(read_pieces(content)), b"")[:512]
        if is_large(self, change.repo, head, path, size, sample):
            change.add_pointer(path, change.repo.large.take(pieces))
        else:
            change.add(path, b"".join(pieces))

    def head(self, repo: str, branch: str = "main") -> str:
        return self.repos[repo].resolve(BRANCH + branch)

    def tag(self, repo: str, name: str, revision: str = "main") -> None:
        self.repos[repo].set_ref(TAG + name, self.repos[repo].resolve(revision))

    def branch(self, repo: str, name: str, revision: str = "main") -> None:
        self.repos[repo].set_ref(BRANCH + name, self.repos[repo].resolve(revision))

    def refs(self, repo: str) -> dict[str, str]:
        """Full name → commit of every branch, tag and pull request."""
        return {f"refs/{name}": commit for name, commit in self.repos[repo].refs("refs/").items()}

    def history(self, repo: str, revision: str = "main") -> list[str]:
        """Commit ids, newest first."""
        kept = self.repos[repo]
        return [commit.id for commit in kept.history(kept.resolve(revision))]

    def paths(self, repo: str, revision: str = "main") -> list[str]:
        kept = self.repos[repo]
        return sorted(kept.blobs(kept.resolve(revision)))

    def read(self, repo: str, path: str, revision: str = "main") -> bytes:
        """The bytes of a file as a reader would get them."""
        kept = self.repos[repo]
        file = kept.file_at(kept.resolve(revision), path)
        if file.pointer is None:
            return kept.objects.get("blob", file.blob_id)
        if kept.large.has(file.pointer.sha256):
            return kept.large.path(file.pointer.sha256).read_bytes()
        with kept.xet.rebuilt(file.pointer.sha256) as path_on_disk:
            return path_on_disk.read_bytes()

    def scan(self, repo: str, status: str | None, path: str = "") -> None:
        """What the security scan says of one file, or of all: safe, unsafe, …; None when it did not run yet."""
        self.repos[repo].scans[path] = status

    def fault(self, match: str, do: str, *, nth: int = 1, retry_after: int | None = None, times: int = 1) -> Fault:
        """Order a fault (hub/faults.py) for requests whose "METHOD path?query" the expression finds."""
        return self.faults.add(match, nth, do, retry_after, times)
