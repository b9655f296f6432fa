"""Image files for tests: good ones, and every way in which one can be wrong."""

from __future__ import annotations

import base64
import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image


def saved(form: str, size: tuple[int, int] = (8, 6), mode: str = "RGB", colour: Any = (200, 10, 10), **options: Any) -> bytes:
    out = BytesIO()
    Image.new(mode, size, colour).save(out, form, **options)
    return out.getvalue()


def animated(form: str) -> bytes:
    out = BytesIO()
    first, second = Image.new("RGB", (4, 4), "red"), Image.new("RGB", (4, 4), "blue")
    first.save(out, form, save_all=True, append_images=[second], duration=50)
    return out.getvalue()


def png_bomb(width: int, height: int) -> bytes:
    """A PNG that says it has that many pixels, in a few hundred bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


def turned() -> bytes:
    """A JPEG of 8 × 6 whose EXIF says that it was taken with the camera turned: 6 × 8."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved("JPEG", exif=exif)


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
