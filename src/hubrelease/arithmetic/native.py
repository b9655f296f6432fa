"""The kernels of native.c, for BF16, called through ctypes, which lets go of the interpreter's lock meanwhile."""

from __future__ import annotations

import ctypes
import threading
from functools import lru_cache
from pathlib import Path

from hubrelease.arithmetic.building import library_file
from hubrelease.arithmetic.kernels import KERNELS, Kernel
from hubrelease.arithmetic.rounding import bits_of, float_of
from hubrelease.arithmetic.values import INFINITE, Buffer, Encoded, PathMissing, Strip, Sums, first_not_finite
from hubrelease.digest import sha256

NOT_FINITE, ABOVE_SHARED = 1, 2
LOCK = threading.Lock()
LOADED: list[ctypes.CDLL] = []

SELF_TEST = {
    "fp8_block": "0841413e13cc1b2c1f769102e64aefc384dd75e74aac139429bf511bcde76b4a",
    "fp8_channel": "166d7526f537d1dedcd2cb95a2e7e184c6ccc34ffbf5744fa8a5e6414c3a9bd1",
    "nvfp4_divisor": "df012f960515fa8dabee9e11e68f70f2d41e02d616e1d49f90b4f7afa813729f",
    "nvfp4_multiplier": "6b34520c58e37fc006a44b979e34dec8d09feee2587baf89aeac3d328a5f1f69",
    "int8": "d8f74a08e325745c3af44eafdf0e0218499375a577d8f1ba4e0c48b07fa00a20",
    "int4": "3c385cd0cf51bb1da968f2d9bcda33f6849e44bf0a7f3e38eb9f117fe8bfc48e",
}
"""Digests of what the plain torch arithmetic makes of `self_test_strip`."""


class Tally(ctypes.Structure):
    """As in native.c; a 128-bit number is its low half and its high half."""

    _fields_ = (
        ("errors", ctypes.c_uint64 * 512),
        ("sources", ctypes.c_uint64 * 512),
        ("largest", ctypes.c_uint32),
        ("lowest", ctypes.c_uint32),
        ("highest", ctypes.c_uint32),
    )

    def sums(self, kernel: Kernel) -> Sums:
        fields = range(self.lowest, self.highest + 1)
        errors, sources = ({n: half[2 * n] | half[2 * n + 1] << 64 for n in fields} for half in (self.errors, self.sources))
        return kernel.sums(errors, sources, float_of(self.largest))


def library() -> ctypes.CDLL:
    """The library, built if need be, loaded and tested once a process. Raises PathMissing."""
    from hubrelease.outside import cache_folder

    with LOCK:
        if not LOADED:
            LOADED.append(load(library_file(cache_folder() / "native")))
        return LOADED[0]


def load(path: Path) -> ctypes.CDLL:
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise PathMissing(f"{path} can't be loaded: {error}") from None
    declare(loaded)
    self_test(loaded)
    return loaded


def declare(loaded: ctypes.CDLL) -> None:
    loaded.hubrelease_amax.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    loaded.hubrelease_amax.restype = ctypes.c_uint32
    for name in SELF_TEST:
        function = getattr(loaded, f"hubrelease_{name}")
        shared = [ctypes.c_uint32] * (2 if KERNELS[name].shared else 0)
        function.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_int64,
            *shared,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.POINTER(Tally),
        ]
        function.restype = ctypes.c_int


def self_test(loaded: ctypes.CDLL) -> None:
    """Guards against a compiler that rounds in its own way."""
    for name, wanted in SELF_TEST.items():
        if self_test_digest(NativeEncoder(KERNELS[name], loaded)) != wanted:
            raise PathMissing(f"{name}, as the C compiler of this machine built it, does not give the bits that it should")


class NativeEncoder:
    """One kernel. Codes and scales lie in memory of its own until the next call."""

    path = "native"
    dtypes: tuple[str, ...] = ("BF16",)

    def __init__(self, kernel: Kernel, loaded: ctypes.CDLL | None = None) -> None:
        if kernel.name not in SELF_TEST:
            raise PathMissing(f"there is no native {kernel.name}")
        self.kernel = kernel
        self.library = loaded or library()
        self.function = getattr(self.library, f"hubrelease_{kernel.name}")
        self.codes, self.scales = bytearray(), bytearray()

    def amax(self, strip: Strip) -> float:
        self.kernel.check(strip, self.dtypes)
        bits: int = self.library.hubrelease_amax(pointer(strip.data), strip.rows * strip.columns)
        if bits >= INFINITE["BF16"]:
            raise first_not_finite(strip)
        return float_of(bits << 16)

    def encode(self, strip: Strip, shared_amax: float | None = None) -> Encoded:
        self.kernel.check(strip, self.dtypes)
        scale = self.kernel.shared_scale(shared_amax, strip.dtype)
        codes, scales = self.room(strip)
        tally = aligned(Tally)
        tally.lowest = 255
        shared = () if scale is None or shared_amax is None else (bits_of(scale), bits_of(shared_amax))
        verdict = self.function(
            pointer(strip.data), strip.rows, strip.columns, *shared, pointer(codes), pointer(scales), ctypes.byref(tally)
        )
        refuse(verdict, strip)
        return Encoded(codes, scales, tally.sums(self.kernel))

    def room(self, strip: Strip) -> tuple[memoryview, memoryview]:
        codes = self.kernel.code_bytes(strip.rows, strip.columns)
        scales = self.kernel.scales_bytes(strip.rows, strip.columns, strip.dtype)
        if len(self.codes) < codes or len(self.scales) < scales:
            self.codes, self.scales = bytearray(codes), bytearray(scales)
        return memoryview(self.codes)[:codes], memoryview(self.scales)[:scales]


def aligned(kind: type[Tally]) -> Tally:
    """C's 128-bit numbers lie at multiples of 16."""
    room = bytearray(ctypes.sizeof(kind) + 16)
    start = -ctypes.addressof(ctypes.c_char.from_buffer(room)) % 16
    return kind.from_buffer(room, start)


def refuse(verdict: int, strip: Strip) -> None:
    if verdict == NOT_FINITE:
        raise first_not_finite(strip)
    if verdict == ABOVE_SHARED:
        raise ValueError("the strip holds a number above the shared maximum")


def pointer(data: Buffer) -> ctypes.Array[ctypes.c_char]:
    """The buffer for C; what is read-only is copied, since ctypes can't point into it."""
    view = memoryview(data).cast("B")
    kind = ctypes.c_char * view.nbytes
    return kind.from_buffer_copy(view) if view.readonly else kind.from_buffer(view)


# ------------------------------------------------------------------------------------------------------- the self-test


def self_test_digest(encoder: NativeEncoder) -> str:
    strip = self_test_strip()
    done = encoder.encode(strip, encoder.amax(strip) if encoder.kernel.shared else None)
    counted = f"{done.sums.error_squares} {done.sums.source_squares} {done.sums.largest.hex()}"
    return sha256(bytes(done.codes) + bytes(done.scales) + counted.encode())


@lru_cache(maxsize=1)
def self_test_strip() -> Strip:
    """128 x 256 numbers: of all magnitudes in one row of four, near each other in the others, zeros in the last two."""
    noise = b"".join(bytes.fromhex(sha256(b"%d" % number)) for number in range(2 * 128 * 256 // 32))
    wide = bytes(high & 0x80 | min(high & 0x7F, 0x7E) for high in range(256))
    near = bytes(high & 0x80 | 0x3A + (high & 0x7F) % 6 for high in range(256))
    rows = (noise[row : row + 256].translate(wide if row % 1024 == 0 else near) for row in range(0, len(noise) // 2, 256))
    data = bytearray(noise)
    data[1::2] = b"".join(rows)
    data[-1024:] = bytes(1024)
    return Strip(data, "BF16", 128, 256)
