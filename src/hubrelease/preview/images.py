"""Pictures that the preview hands to the browser: told by their first bytes, never by their name."""

from __future__ import annotations

import re

MAX_BYTES = 20 * 2**20
SVG = re.compile(rb"\s*(?:<\?xml[^>]*\?>\s*)?(?><!--.*?-->\s*)*+(?:<!DOCTYPE svg[^>\[]*>\s*)?<svg[\s>]", re.DOTALL)


def media_type(head: bytes) -> str | None:
    """The type of a picture that every browser shows, or None. `head` are its first 4 KiB."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return "image/svg+xml" if SVG.match(head.removeprefix(b"\xef\xbb\xbf")) else None
