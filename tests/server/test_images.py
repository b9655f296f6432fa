"""Image files by the thousand, each a good one with bytes changed: a picture or a refusal, never anything else, and no more pixels than allowed."""

from __future__ import annotations

import random
import time

import pytest

pytest.importorskip("PIL", reason="the environment of `make server`")

import pictures
import runtime_path  # noqa: F401
from server.images import MAX_PIXELS, Picture, decode, from_data_url
from server.refusals import Refused

pytestmark = pytest.mark.heavy
GOOD = {
    "jpeg": pictures.saved("JPEG", (40, 30)), "progressive": pictures.saved("JPEG", (40, 30), progressive=True), "turned": pictures.turned(), "cmyk": pictures.saved("JPEG", (40, 30), "CMYK", (1, 2, 3, 4)),
    "png": pictures.saved("PNG", (40, 30)), "palette": pictures.saved("PNG", (40, 30), "P", 3), "grey16": pictures.saved("PNG", (40, 30), "I;16", 999), "alpha": pictures.saved("PNG", (40, 30), "RGBA", (1, 2, 3, 4)),
    "webp": pictures.saved("WEBP", (40, 30)), "lossless": pictures.saved("WEBP", (40, 30), lossless=True), "apng": pictures.animated("PNG"), "animated": pictures.animated("WEBP"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_changed_file_is_a_picture_or_a_refusal(name: str) -> None:
    chance, good = random.Random(name), GOOD[name]
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            change = chance.random()
            if change < 0.6:
                data[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            elif change < 0.8:
                del data[at : at + chance.randint(1, 8)]
            else:
                data[at:at] = chance.randbytes(chance.randint(1, 8))
            if not data:
                break
        found = judged(bytes(data))
        assert found.pixels.mode == "RGB" if isinstance(found, Picture) else found.status in (413, 422)


def judged(data: bytes) -> Picture | Refused:
    try:
        found = decode(data, 0)
    except Refused as refused:
        return refused
    assert found.width * found.height <= MAX_PIXELS
    return found


@pytest.mark.parametrize("name", [n for n in GOOD if n not in ("apng", "animated")])
def test_a_good_file_is_read(name: str) -> None:
    assert decode(GOOD[name], 0).pixels.mode == "RGB"


def test_a_progressive_jpeg_of_endless_scans_is_refused_at_once() -> None:
    """Each scan of 60 bytes goes over all coefficients: 20 MiB of them would take hours."""
    good = pictures.saved("JPEG", (4000, 4000), progressive=True)
    last = good.rindex(b"\xff\xc4") if good.rindex(b"\xff\xc4") > good.rindex(b"\xff\xda") else good.rindex(b"\xff\xda")
    bomb = good[:-2] + good[last:-2] * 20_000 + good[-2:]
    started = time.monotonic()
    with pytest.raises(Refused):
        decode(bomb, 0)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("tail", [b"\xff\xda" * 1000, b"\xff\xc4\xff\xda\x00\x02" * 1000], ids=["marks", "segments"])
def test_what_follows_a_jpegs_end_is_not_counted(tail: bytes) -> None:
    """Phones append a video, in which any two bytes may stand."""
    assert decode(pictures.saved("JPEG", (40, 30)) + tail, 0).width == 40
    assert decode(pictures.saved("JPEG", (40, 30), comment=b"\xff\xda" * 1000), 0).width == 40


@pytest.mark.parametrize("size", [(1, 200), (200, 1), (4000, 20)])
def test_a_narrow_image_is_read(size: tuple[int, int]) -> None:
    assert decode(pictures.saved("PNG", size), 0).pixels.size == size


def test_pixels_are_reserved_before_they_are_made() -> None:
    asked: list[int] = []
    decode(GOOD["png"], 0, asked.append)
    assert asked == [4 * 40 * 30]


@pytest.mark.parametrize("url", ["data:image/png;base64,", "data:IMAGE/PNG;base64,aaaa"])
def test_a_data_url_is_read(url: str) -> None:
    assert from_data_url(url, 0) in (b"", b"i\xa6\x9a")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "data:",
        "data:image/png",
        "data:image/gif;base64,aaaa",
        "data:image/png;base64,aaa",
        "data:image/png;base64,a a=",
        "http://x/y.png",
        "file:///etc/passwd",
        None,
        5,
    ],
)
def test_another_url_is_refused(url: object) -> None:
    with pytest.raises(Refused):
        from_data_url(url, 0)
