"""A container image, named by digest. Nothing is fetched: the digest is the pin, and the spec already demands it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from hubrelease.lock import LockedSource, request_of
from hubrelease.outside import Outside
from hubrelease.sources import Kind
from hubrelease.spec import Source


def resolve(source: Source, outside: Outside) -> LockedSource:
    return LockedSource(source.name, "image", request_of(source), source.locator.split("@sha256:")[1], license=source.license)


def open_file(locked: LockedSource, path: str, outside: Outside) -> BinaryIO:
    raise FileNotFoundError(f"{locked.name} is an image and has no files")


def on_disk(locked: LockedSource, path: str, outside: Outside) -> Path | None:
    return None


KIND = Kind("image", resolve, open_file, on_disk, on_disk, lambda locked: "oci://" + locked.request["image"].split("@")[0])
