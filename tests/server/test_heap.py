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
    monkeypatch.setattr(heap, "OPTION", None)
    heap.keep_large_apart()
    heap.give_back()


LARGE = """
import ctypes, os
from server import heap

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

heap.keep_large_apart()
libc.free(ctypes.c_void_p(libc.malloc(30_000_000)))  # raises the bound where it is left alone
before = resident()
blocks = [ctypes.c_void_p(libc.malloc(2_000_000)) for _ in range(50)]
for block in blocks:
    ctypes.memset(block, 1, 2_000_000)
above = libc.malloc(100_000)
for block in blocks:
    libc.free(block)
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's arenas")
def test_a_large_block_goes_back_when_it_is_freed():
    done = subprocess.run([sys.executable, "-c", LARGE], cwd=RUNTIME, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 10_000_000
