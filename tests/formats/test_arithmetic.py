"""The paths agree with each other and with the docstrings' rules, bit for bit, on strips of any kind; what they refuse."""

from __future__ import annotations

import math
import struct
from array import array

import by_the_book
import parity_tensors
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from parity import HAS_TORCH, PATHS, form_of, ours
from parity_tensors import SAMPLES, noise

from hubrelease.formats import NOTHING, Encoded, Format, NotFinite, Strip, Sums, formats

QUANTISING = [form.name for form in formats() if form.name not in ("bf16", "nvfp4")]
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")


def strip_of(seed: int, rows: int, columns: int, lowest: int, span: int, zeros: int) -> Strip:
    """Finite BF16 numbers with exponent fields from `lowest` on; every `zeros`-th number is one of the two zeros."""
    bits = array("H", (n & 0x807F | (lowest + (n >> 7) % span) << 7 for n in noise(f"strip{seed}", rows * columns)))
    for place in range(0, len(bits), zeros) if zeros else ():
        bits[place] &= 0x8000
    return Strip(memoryview(bits).cast("B"), "BF16", rows, columns)


@st.composite
def strips(draw: st.DrawFn, form: Format) -> Strip:
    kernel = form.kernel
    rows = kernel.rows_of * draw(st.integers(1, 2 if kernel.rows_of > 1 else 5))
    columns = kernel.columns_of * draw(st.integers(1, 3 if kernel.columns_of > 16 else 90))
    lowest = draw(st.integers(0, 254))
    span = draw(st.integers(1, min(255 - lowest, 20)) | st.just(255 - lowest))
    return strip_of(draw(st.integers(0, 2**32)), rows, columns, lowest, span, draw(st.sampled_from((0, 1, 2, 5, 16, 129))))


def encoded(form: Format, path: str, strip: Strip, above: float = 1.0) -> Encoded:
    """`above` 1: the strip's largest number is that of the set; else a sibling's is so much larger."""
    encoder = form.encoder("cpu", path, strip.dtype)
    largest = encoder.amax(strip)
    shared = largest * above if largest * above < 3e38 else largest
    return encoder.encode(strip, shared if form.needs_shared_amax else None)


@needs_torch
@pytest.mark.parametrize("name", QUANTISING)
@settings(max_examples=40)
@given(st.data())
def test_native_and_torch_give_the_same_bits(name: str, data: st.DataObject) -> None:
    form = form_of(name)
    strip, above = data.draw(strips(form)), data.draw(st.sampled_from((1.0, 1.0, 3.0, 1024.0, 2.0**30)))
    a, b = (encoded(form, path, strip, above) for path in ("native", "torch"))
    assert bytes(a.codes) == bytes(b.codes)
    assert bytes(a.scales) == bytes(b.scales)
    assert a.sums == b.sums


@pytest.mark.parametrize("name", QUANTISING)
@settings(max_examples=12)
@given(st.data())
def test_the_docstrings_rules_give_the_same_bits(name: str, data: st.DataObject) -> None:
    form = form_of(name)
    strip = data.draw(strips(form))
    numbers = struct.unpack(
        f"<{strip.rows * strip.columns}f", b"".join(b"\0\0" + bytes(pair) for pair in zip(strip.data[::2], strip.data[1::2], strict=True))
    )
    done = encoded(form, "native", strip)
    assert (bytes(done.codes), bytes(done.scales)) == by_the_book.RULES[name](numbers, strip.columns, max(map(abs, numbers)))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", QUANTISING)
def test_strips_may_be_cut_anywhere(name: str, path: str) -> None:
    form = form_of(name)
    step = form.kernel.rows_of
    whole = strip_of(7, 3 * 128, 256, 110, 12, 5)
    encoder = form.encoder("cpu", path)
    amax = encoder.amax(whole) if form.needs_shared_amax else None
    codes = scales = b""
    sums = NOTHING
    for top in range(0, 384, step if step > 1 else 48):
        rows = min(step if step > 1 else 48, 384 - top)
        done = encoder.encode(Strip(whole.data[512 * top : 512 * (top + rows)], "BF16", rows, 256), amax)
        codes, scales, sums = codes + bytes(done.codes), scales + bytes(done.scales), sums + done.sums
    done = encoder.encode(whole, amax)
    assert (codes, scales, sums) == (bytes(done.codes), bytes(done.scales), done.sums)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", QUANTISING)
def test_sums_tell_the_error_of_the_round_trip(name: str, path: str) -> None:
    """Against a dequantiser of this test's own, in binary64."""
    form = form_of(name)
    strip = strip_of(3, 128, 256, 112, 8, 9)
    done = encoded(form, path, strip)
    numbers = floats(bytes(strip.data))
    back, steps = dequantised(form, done, max(map(abs, numbers)))
    errors = sum((a - b) ** 2 for a, b in zip(numbers, back, strict=True))
    assert done.sums.relative == pytest.approx(math.sqrt(errors / sum(x * x for x in numbers)), rel=2e-4)
    assert done.sums.error_squares / 4**165 == pytest.approx(errors, rel=5e-4)
    assert done.sums.source_squares / 4**165 == pytest.approx(sum(x * x for x in numbers), rel=2e-4)
    largest = max(abs(a - b) / step for a, b, step in zip(numbers, back, steps, strict=True))
    assert done.sums.largest == pytest.approx(largest, rel=1e-4)


def floats(bf16: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(bf16) // 2}f", b"".join(b"\0\0" + bf16[i : i + 2] for i in range(0, len(bf16), 2))))


def dequantised(form: Format, done: Encoded, largest: float) -> tuple[list[float], list[float]]:
    """Numbers and steps of 128 rows of 256 columns."""
    codes, scales, columns = bytes(done.codes), bytes(done.scales), 256
    if form.name == "fp8_block":
        found: list[float] = list(struct.unpack("<2f", scales))
        steps = [found[i % columns // 128] for i in range(128 * columns)]
    elif form.name in ("fp8_dynamic", "w8a16", "w4a16"):
        found = floats(scales)
        steps = [found[i * len(found) // (128 * columns)] for i in range(128 * columns)]
    else:
        small = form.constants(largest, None, (128, 256), "BF16")
        shared = struct.unpack("<f", next(iter(small.values())))[0]
        of = (lambda s: s / shared) if form.name == "nvfp4a16" else (lambda s: s * shared)
        steps = [of(by_the_book.E4M3[scales[i // 16]]) for i in range(128 * columns)]
    if form.kernel.code_bits == 4:
        codes = bytes(nibble for byte in codes for nibble in (byte & 15, byte >> 4))
    return [value(form, code) * step for code, step in zip(codes, steps, strict=True)], steps


def value(form: Format, code: int) -> float:
    if form.name in ("w8a16", "w4a16"):
        return code - (128 if form.name == "w8a16" else 8)
    table, sign = (by_the_book.E2M1, 8) if form.kernel.code_bits == 4 else (by_the_book.E4M3, 128)
    return -table[code & (sign - 1)] if code & sign else table[code]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", QUANTISING)
@pytest.mark.parametrize(("bits", "text"), [(0x7F80, "infinity"), (0xFF80, "infinity"), (0x7FC0, "NaN"), (0xFFFF, "NaN"), (0x7F81, "NaN")])
def test_what_is_not_finite_is_refused_with_its_place(name: str, path: str, bits: int, text: str) -> None:
    form = form_of(name)
    bad = bytearray(strip_of(1, 128, 256, 110, 5, 0).data)
    struct.pack_into("<H", bad, 2 * (77 * 256 + 200), bits)
    strip = Strip(bad, "BF16", 128, 256)
    encoder = form.encoder("cpu", path)
    for call in (lambda: encoder.amax(strip), lambda: encoder.encode(strip, 1.0 if form.needs_shared_amax else None)):
        with pytest.raises(NotFinite) as caught:
            call()
        assert (caught.value.row, caught.value.column, caught.value.value) == (77, 200, text)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", QUANTISING)
def test_strips_of_another_kind_are_refused(name: str, path: str) -> None:
    form = form_of(name)
    encoder = form.encoder("cpu", path)
    shared = 1.0 if form.needs_shared_amax else None
    strip = Strip(bytes(2 * 128 * 256), "BF16", 128, 256)
    with pytest.raises(ValueError, match="shared maximum"):
        encoder.encode(strip, None if shared else 1.0)
    if form.needs_shared_amax:
        large = strip_of(1, 1, 16, 128, 1, 0)
        with pytest.raises(ValueError, match="above the shared maximum"):
            encoder.encode(large, 0.5)
    if form.kernel.columns_of > 1:
        with pytest.raises(ValueError, match="multiples"):
            encoder.encode(Strip(bytes(2 * 128 * 8), "BF16", 128, 8), shared)
    with pytest.raises(ValueError, match="bytes are not"):
        Strip(bytes(10), "BF16", 2, 3)


@pytest.mark.parametrize("path", PATHS)
def test_the_largest_magnitude_is_exact(path: str) -> None:
    for sample in SAMPLES:
        if sample.dtype == "BF16" or path == "torch":
            encoder = form_of("nvfp4a16").encoder("cpu", path, sample.dtype)
            assert encoder.amax(Strip(sample.data, sample.dtype, sample.rows, sample.columns)) == parity_tensors.own_amax(sample)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("columns", [1, 7, 16, 31, 32, 33, 63, 64, 65, 129])
def test_rows_of_any_width_have_one_fp8_scale(columns: int, path: str) -> None:
    form, strip = form_of("fp8_dynamic"), strip_of(columns, 3, columns, 100, 20, 3)
    done = encoded(form, path, strip)
    assert (bytes(done.codes), bytes(done.scales)) == by_the_book.fp8_dynamic(floats(bytes(strip.data)), columns, 0)


def test_memory_is_reused_and_a_read_only_buffer_will_do() -> None:
    form, strip = form_of("w4a16"), strip_of(5, 2, 128, 100, 20, 3)
    encoder = form.encoder("cpu", "native")
    first = encoder.encode(strip)
    kept = bytes(first.codes)
    again = encoder.encode(Strip(bytes(strip.data), "BF16", 2, 128))
    assert bytes(again.codes) == kept
    encoder.encode(Strip(bytes(512), "BF16", 2, 128))
    assert bytes(first.codes) == bytes([0x88] * 128)


@given(st.lists(st.builds(Sums, st.integers(0, 2**400), st.integers(0, 2**400), st.floats(0, 100)), min_size=1, max_size=6))
@example([Sums(1, 0, 2.0)])
def test_sums_add_up_in_any_order(parts: list[Sums]) -> None:
    forth, back = NOTHING, NOTHING
    for part in parts:
        forth = forth + part
    for part in reversed(parts):
        back = part + back
    assert forth == back
    assert forth.relative >= 0


@needs_torch
def test_f32_and_f16_become_bf16_as_torch_has_them() -> None:
    import torch

    form = next(form for form in formats() if form.name == "bf16")
    for sample in SAMPLES:
        if sample.dtype != "BF16":
            strip = Strip(sample.data, sample.dtype, sample.rows, sample.columns)
            done = form.encoder("cpu", "torch", sample.dtype).encode(strip)
            kind = torch.float16 if sample.dtype == "F16" else torch.float32
            wanted = torch.frombuffer(bytearray(sample.data), dtype=kind).to(torch.bfloat16)
            assert bytes(done.codes) == wanted.view(torch.uint8).numpy().tobytes()
            assert not done.scales
            assert done.sums.largest <= 0.5
            assert done.sums.relative < 2.0**-8 or "1e-40" in sample.name  # BF16's subnormals are coarse
    with pytest.raises(NotFinite, match="beyond BF16"):
        form.encoder("cpu", "torch", "F32").encode(Strip(struct.pack("<f", 3.4e38), "F32", 1, 1))


@needs_torch
def test_every_sample_is_the_same_on_both_paths_with_its_sums() -> None:
    for name in QUANTISING:
        for sample in SAMPLES:
            if sample.dtype == "BF16":
                assert ours(form_of(name), sample, "native") == ours(form_of(name), sample, "torch")


@needs_torch
def test_native_keeps_subnormals_where_the_thread_flushes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    forms = [form_of(name) for name in QUANTISING]
    pairs = [(form, sample) for form in forms for sample in SAMPLES if sample.dtype == "BF16"]
    amaxes = {sample.name: parity_tensors.amax(sample) for _, sample in pairs}
    monkeypatch.setattr(parity_tensors, "amax", lambda sample: amaxes[sample.name])  # struct flushes, too
    wanted = [ours(*pair, "native") for pair in pairs]
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor can't flush subnormals")
    try:
        assert [ours(*pair, "native") for pair in pairs] == wanted
    finally:
        torch.set_flush_denormal(False)
