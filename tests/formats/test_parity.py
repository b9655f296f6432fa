"""Bytes are those of the formats' producers: against digests of what they made (quick), and against themselves (heavy)."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import parity
import pytest
from parity import ALL, MENDED, PATHS, Producer, differing_bits, digest, fits, form_of, kept, ours
from parity_tensors import SAMPLES, Sample

from hubrelease.arithmetic.kernels import divisor

MADE = [pytest.param(p, name, id=f"{p.name}-{name}") for p in ALL for name in p.formats]
BY_NAME = {sample.name: sample for sample in SAMPLES}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("producer", "name"), MADE)
def test_bytes_are_the_producers(producer: Producer, name: str, path: str) -> None:
    form, wanted = form_of(name), kept(producer)[name]
    assert set(wanted) == set(BY_NAME)
    compared = 0
    for sample in SAMPLES:
        if fits(sample, path) and (name, sample.name) not in MENDED:
            found = {suffix: digest(data) for suffix, data in ours(form, sample, path)[0].items()}
            assert found == wanted[sample.name], sample.name
            compared += 1
    assert compared >= 18


@pytest.mark.parametrize("path", PATHS)
def test_a_block_of_next_to_nothing_is_a_block_of_zeros(path: str) -> None:
    sample = BY_NAME["subnormals"]
    parts, _ = ours(form_of("fp8_block"), sample, path)
    assert parts[".weight"] == bytes(high & 0x80 for high in sample.data[1::2])
    assert parts[".weight_scale_inv"] == struct.pack("<f", 1.0) * 2


@pytest.mark.parametrize("path", PATHS)
def test_a_weight_of_zeros_has_scales_of_one_in_modelopt(path: str) -> None:
    parts, sums = ours(form_of("modelopt_nvfp4"), BY_NAME["zeros"], path)
    assert set(parts[".weight"]) == {0}
    assert set(parts[".weight_scale"]) == {0x38}  # 1 in E4M3
    assert parts[".weight_scale_2"] == struct.pack("<f", 1.0)
    assert (sums.error_squares, sums.source_squares, sums.largest, sums.relative) == (0, 0, 0.0, 0.0)


@pytest.mark.skipif(not parity.HAS_TORCH, reason="torch is not installed")
def test_a_step_that_underflows_means_codes_of_zero_in_modelopt() -> None:
    sample = Sample("", "F32", 1, 32, struct.pack("<32f", *([1e-41] + [0.0] * 15 + [1e-45] * 16)))
    form = form_of("modelopt_nvfp4")
    encoder = form.encoder("cpu", "torch", "F32")
    done = encoder.encode(parity.Strip(sample.data, "F32", 1, 32), encoder.amax(parity.Strip(sample.data, "F32", 1, 32)))
    assert bytes(done.codes[8:]) == bytes(8)


def test_global_scales_are_those_of_compressed_tensors_for_every_bf16_number() -> None:
    wanted = json.loads(ALL[0].file.read_text())["divisors"]
    numbers = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in range(0x7F80)]
    found = b"".join(struct.pack("<f", divisor(x, "BF16")) for x in numbers)
    assert hashlib.sha256(found).hexdigest() == wanted


def test_a_fused_set_shares_its_global_scale_and_only_that() -> None:
    q, k = (ours(form_of("nvfp4a16"), BY_NAME[name], "native")[0] for name in ("q with 9.5", "k"))
    assert q[".weight_global_scale"] == k[".weight_global_scale"] == struct.pack("<f", 284.0)
    assert q[".weight_scale"] != k[".weight_scale"]


@pytest.mark.heavy
@pytest.mark.parametrize("producer", ALL, ids=lambda p: p.name)
def test_against_the_producer_itself(
    producer: Producer, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    versions = parity.run(producer, tmp_path)
    if request.config.getoption("--update-golden"):
        write(producer, versions, tmp_path)
    rows = [row for name in producer.formats for row in compared(tmp_path, name)]
    with capsys.disabled():
        print(f"\n{producer.name}: {', '.join(f'{name} {version}' for name, version in versions.items())}")
        print(f"{'format':16} {'path':7} {'tensors':>8} {'bits':>10} {'bits that differ':>17}  mended apart")
        for name, path, tensors, bits, differ, mended in rows:
            print(f"{name:16} {path:7} {tensors:8} {bits:10} {differ:17}  {mended}")
    assert not [row for row in rows if row[4]]


def compared(folder: Path, name: str) -> list[tuple[str, str, int, int, int, str]]:
    form, rows = form_of(name), []
    for path in ["native", "torch"] if parity.HAS_TORCH else ["native"]:
        tensors = bits = differ = 0
        for sample, parts in parity.theirs(folder, form):
            if fits(sample, path) and (name, sample.name) not in MENDED:
                found = ours(form, sample, path)[0]
                tensors, bits = tensors + 1, bits + 8 * sum(map(len, parts.values()))
                differ += sum(differing_bits(found[suffix], parts[suffix]) for suffix in parts)
        mended = ", ".join(sample for form_name, sample in MENDED if form_name == name)
        rows.append((name, path, tensors, bits, differ, mended))
    return rows


def write(producer: Producer, versions: dict[str, str], folder: Path) -> None:
    made = {name: {sample.name: {suffix: digest(data) for suffix, data in parts.items()} for sample, parts in parity.theirs(folder, form_of(name))}
            for name in producer.formats}  # fmt: skip
    value: dict[str, object] = {"versions": versions, "parts": made}
    if (divisors := folder / "divisors" / "0.f32").exists():
        value["divisors"] = hashlib.sha256(divisors.read_bytes()).hexdigest()
    producer.file.write_text(json.dumps(value, indent=1) + "\n")
