"""Images of a request: data URLs and uploads to RGB pictures, within limits that are checked before pixels are made.

JPEG, PNG and WebP of one frame, at most 20 MiB and 20 million pixels, no side more than 200 times the other, turned as EXIF
says. What Pillow can't read to its end (truncated, broken, another type) is refused; nothing is repaired.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps

from server.refusals import Refused, invalid, too_large

MAX_BYTES = 20 * 2**20
MAX_PIXELS = 20_000_000
MAX_RATIO = 200  # of the sides: the image processor of Qwen's models takes no narrower picture
MAX_SCANS = 100  # of a JPEG: encoders make about ten; each costs a pass over all pixels and may have but 40 bytes
FORMATS = ("JPEG", "PNG", "WEBP")
TYPES = ("image/jpeg", "image/png", "image/webp")
DATA_URL = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,", re.I)
MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd8\xff])")  # of a JPEG, with a length after it
SCAN, END = b"\xda", b"\xd9"
# What Pillow's decoders raise for hostile files; anything else is a fault of ours and a 500.
BROKEN = (OSError, SyntaxError, ValueError, TypeError, ArithmeticError, LookupError, EOFError, struct.error, zlib.error)


@dataclass(frozen=True)
class Picture:
    """A decoded image and what the answer says of it."""

    pixels: Any
    sha256: str
    width: int
    height: int
    size_bytes: int

    @property
    def facts(self) -> dict[str, Any]:
        return {"sha256": self.sha256, "width": self.width, "height": self.height, "bytes": self.size_bytes}


def from_data_url(value: Any, position: int) -> bytes:
    """The bytes of a base64 data URL. Raises Refused."""
    match = DATA_URL.match(value) if isinstance(value, str) else None
    if match is None or match[1].lower() not in TYPES:
        raise bad(position, f"is not a base64 data URL of {', '.join(TYPES)}")
    if (len(value) - match.end()) // 4 * 3 > MAX_BYTES + 3:
        raise large(position, f"has more than {MAX_BYTES:,} bytes")
    try:
        return base64.b64decode(value[match.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise bad(position, "is not valid base64") from None


def decode(data: bytes, position: int, reserve: Callable[[int], None] = lambda _: None) -> Picture:
    """The Picture of an image file's bytes; `reserve` is told the bytes of pixels before they are made. Raises Refused."""
    if len(data) > MAX_BYTES:
        raise large(position, f"has {len(data):,} bytes; the limit is {MAX_BYTES:,}")
    if too_many_scans(data):
        raise bad(position, f"has more than {MAX_SCANS} scans")
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as source:
            if getattr(source, "n_frames", 1) != 1:
                raise bad(position, "has several frames")
            if source.width * source.height > MAX_PIXELS:
                raise large(position, f"has {source.width} × {source.height} pixels; the limit is {MAX_PIXELS:,}")
            if max(source.size) > MAX_RATIO * min(source.size):
                raise bad(position, f"has {source.width} × {source.height} pixels; one side is at most {MAX_RATIO} times the other")
            reserve(4 * source.width * source.height)
            source.load()
            pixels = to_rgb(ImageOps.exif_transpose(source))
    except Image.DecompressionBombError:
        raise large(position, f"has more than {MAX_PIXELS:,} pixels") from None
    except BROKEN:
        raise bad(position, "is not a whole JPEG, PNG or WebP file") from None
    return Picture(pixels, hashlib.sha256(data).hexdigest(), pixels.width, pixels.height, len(data))


def too_many_scans(data: bytes) -> bool:
    """True for a JPEG with more scans than any encoder makes. What follows its end is not looked at."""
    count = at = 0
    while data.startswith(b"\xff\xd8") and count <= MAX_SCANS and (found := MARKER.search(data, at)) and found[1] != END:
        count += found[1] == SCAN
        at = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")
    return count > MAX_SCANS


def to_rgb(image: Image.Image) -> Image.Image:
    """Pillow clips 16-bit greys when it converts them, which would make most of them white: they are scaled first."""
    if image.mode.startswith("I"):
        image = image.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    return image.convert("RGB")


def bad(position: int, detail: str) -> Refused:
    return invalid(f"image {position + 1} {detail}", "bad_image")


def large(position: int, detail: str) -> Refused:
    return too_large(f"image {position + 1} {detail}", "image_too_large")
