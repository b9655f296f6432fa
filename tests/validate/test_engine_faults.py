"""What torch raises, in words that say whose memory, which driver: without torch, for only the words are looked at."""

from __future__ import annotations

import pytest

from hubrelease.engines import EngineFault
from hubrelease.engines.transformers import told

CUDA_OOM = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.79 GiB of which 1.10 GiB is free.\nSee documentation"
)
DRIVER = "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"
LOST = "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported"


@pytest.mark.parametrize(
    ("error", "device", "words", "ended"),
    [
        (RuntimeError(CUDA_OOM), "cuda", "the memory of the GPU did not suffice: CUDA out of memory. Tried to allocate 2.00 GiB", False),
        (MemoryError(), "cpu", "the memory of the machine did not suffice", False),
        (RuntimeError(DRIVER), "cuda", "driver on your system is too old", False),
        (RuntimeError(LOST), "cuda", "illegal memory access", True),
        (ValueError(), "cpu", "ValueError", False),
        (Exception("missing field `single_word` at line 8"), "cpu", "missing field `single_word`", False),
        (ZeroDivisionError("division by zero"), "cpu", "division by zero", False),
    ],
)
def test_a_fault_is_one_line_and_says_whether_anything_can_be_asked_after_it(error, device, words, ended):
    with pytest.raises(EngineFault) as caught, told(device, "the request failed"):
        raise error
    assert caught.value.message.startswith("the request failed: ")
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.ended is ended


def test_what_is_no_fault_of_an_engine_is_not_caught():
    for error in (KeyboardInterrupt, SystemExit):
        with pytest.raises(error), told("cpu", "x"):
            raise error
