"""The one folder that a preview reads: pictures and texts by their path in the release; no link, no dot file, nothing outside.

Receipts and extra files are found where release.yaml takes them from, as they will lie in the release under another name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hubrelease.preview import images
from hubrelease.preview.shape import local_path
from hubrelease.spec import Spec
from hubrelease.verify_release import Folder

MAX_TEXT = 2 * 2**20


class Files:
    """`renamed` is {path in the release: path in this folder}."""

    def __init__(self, root: Path, renamed: Mapping[str, str]) -> None:
        self.folder, self.renamed = Folder(root), renamed

    def read(self, path: str, limit: int) -> bytes | None:
        """The bytes of a file of at most `limit` bytes; None where it is absent, a link, hidden or larger."""
        here = self.renamed.get(path, path)
        if local_path(here.replace("%", "%25")) != here or any(part.startswith(".") for part in here.split("/")):
            return None
        try:
            data: bytes = self.folder.read(here, limit + 1)
        except (OSError, ValueError):
            return None
        return data if len(data) <= limit else None

    def image(self, path: str) -> tuple[str, bytes] | None:
        """(media type, bytes) of a picture."""
        data = self.read(path, images.MAX_BYTES)
        kind = images.media_type(data[:4096]) if data else None
        return (kind, data) if kind and data else None

    def text(self, path: str) -> str | None:
        data = self.read(path, MAX_TEXT)
        if data is None or b"\x00" in data:
            return None
        return data.decode("utf-8", "replace")

    def has_image(self, path: str) -> bool:
        return self.image(path) is not None

    def has_text(self, path: str) -> bool:
        return self.text(path) is not None


def renamed(spec: Spec) -> dict[str, str]:
    """Where files of the release lie beside release.yaml under another path."""
    found = {receipt.to: receipt.path for receipt in spec.receipts}
    return found | {file.to: file.path for file in spec.files if file.source is None}
