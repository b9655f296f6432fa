"""Freed memory goes back to the system even where a small block lies above it, so that a long-lived server's size is what it needs."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
from runtime_path import RUNTIME
from server import heap

pytestmark = pytest.mark.heavy
BLOCKS, BYTES = 2000, 100_000  # each small enough to be cut from an arena
GROWN = f"""
import ctypes, os
from server import heap

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = [ctypes.c_void_p(libc.malloc({BYTES})) for _ in range({BLOCKS})]
for block in blocks:
    ctypes.memset(block, 1, {BYTES})
above = libc.malloc(100)
for block in blocks:
    libc.free(block)
freed = resident()
heap.give_back()
print(freed - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's arenas")
def test_what_is_free_below_a_block_in_use_is_given_back():
    done = subprocess.run([sys.executable, "-c", GROWN], cwd=RUNTIME, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0.8 * BLOCKS * BYTES


def test_a_c_library_without_it_is_left_alone(monkeypatch):
    monkeypatch.setattr(heap, "TRIM", None)
    heap.give_back()
