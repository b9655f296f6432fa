"""Memory that the process has freed goes back to the system, so that what a long-lived server holds is what it needs.

glibc keeps freed blocks in its arenas, and one small block that lives on holds all below it: a server whose buffers are of
many sizes grew by half that way, with nothing of it in use (torch on a CPU with 2,000 requests).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

M_MMAP_THRESHOLD = -3  # malloc.h
LARGE_BYTES = 2**20


def of_glibc(name: str) -> Callable[..., int] | None:
    """A function of glibc's allocator; other C libraries have none, and need none."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None


TRIM, OPTION = of_glibc("malloc_trim"), of_glibc("mallopt")


def keep_large_apart() -> None:
    """Blocks of 1 MiB and more come from the system one by one and go back when freed. Left alone, glibc raises that to 32 MiB."""
    if OPTION is not None:
        OPTION(M_MMAP_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Gives free pages of every arena back; some milliseconds for 100 MB of them."""
    if TRIM is not None:
        TRIM(0)
