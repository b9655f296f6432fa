#!/usr/bin/env python3
"""Makes the converted weights of a release again from their base and compares them, with torch alone.

    python3 conversion/rederive.py RELEASE BASE [--tensor TEXT]

RELEASE is the release's folder, BASE a folder with the base's files at the commit that MODEL_PROVENANCE.json names.
--tensor takes only weights whose name contains TEXT. Exit code 0: all equal; 1: something differs; 3: a file is missing.
The roundings are those of reference.py beside this file; the format's own file says them in words.
"""

import argparse
import hashlib
import json
import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import reference
import torch

KERNELS = {
    "fp8_block": reference.fp8_block, "fp8_dynamic": reference.fp8_channel, "nvfp4a16": reference.nvfp4_divisor,
    "nvfp4": reference.nvfp4_divisor, "modelopt_nvfp4": reference.nvfp4_multiplier, "w8a16": reference.int8, "w4a16": reference.int4,
}  # fmt: skip
DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
FUSED = (
    ("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("w1", "w3"), ("q_a_proj", "kv_a_proj_with_mqa"), ("wq_a", "wkv_a_with_mqa"),
    ("in_proj_qkv", "in_proj_z"), ("in_proj_b", "in_proj_a"),
)  # fmt: skip
TINY = {"BF16": 2.0**-126, "F16": 2.0**-14, "F32": 2.0**-126}
CHUNK = 2**20


def read_header(path):
    """{tensor: (dtype, shape, first byte, bytes)} of a safetensors file."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return {n: (t["dtype"], t["shape"], 8 + length + t["data_offsets"][0], t["data_offsets"][1] - t["data_offsets"][0]) for n, t in header.items()}


class Files:
    def __init__(self, folder):
        self.folder, self.headers = Path(folder), {}

    def place(self, file, name):
        if file not in self.headers:
            self.headers[file] = read_header(self.folder / file)
        return self.headers[file][name]

    def data(self, file, name):
        _, _, start, size = self.place(file, name)
        with (self.folder / file).open("rb") as stream:
            stream.seek(start)
            return bytearray(stream.read(size))

    def sha256(self, file, name):
        _, _, start, size = self.place(file, name)
        digest = hashlib.sha256()
        with (self.folder / file).open("rb") as stream:
            stream.seek(start)
            while size and (chunk := stream.read(min(CHUNK, size))):
                digest.update(chunk)
                size -= len(chunk)
        return digest.hexdigest()

    def tensor(self, file, name):
        dtype, shape, _, _ = self.place(file, name)
        return torch.frombuffer(self.data(file, name), dtype=DTYPES[dtype]).view(shape)


def global_scale(form, amax, dtype):
    """compressed-tensors' divisor or ModelOpt's multiplier of a largest magnitude: see the format's own file."""
    f32 = torch.float32
    if form == "modelopt_nvfp4":
        return float(torch.tensor(amax, dtype=f32) / torch.tensor(2688.0, dtype=f32)) or 1.0
    kind = DTYPES[dtype]
    at_least = torch.tensor(max(amax, TINY[dtype]), dtype=f32)
    found = float(((torch.tensor(1.0, dtype=f32) / at_least).to(kind).to(f32) * 2688.0).to(kind))
    return found if found < float("inf") else 1.0


def siblings(module, modules):
    parent, _, last = module.rpartition(".")
    for group in FUSED:
        if last in group:
            return [m for m in (f"{parent}.{name}" if parent else name for name in group) if m in modules]
    return [module]


def parts_of(row, files, form, modules, release):
    """(tensor name, sha256 wanted) of what one base weight becomes."""
    source = row["source"]
    module = source["tensor"].removesuffix(".weight")
    weight = files.tensor(source["file"], source["tensor"])
    shared = ()
    if "nvfp4" in form:
        amax = max(float(files.tensor(modules[m], m + ".weight").float().abs().max()) for m in siblings(module, modules))
        shared = (global_scale(form, amax, source["dtype"]),)
    done = KERNELS[form](weight, *shared)
    yield row["name"], done.codes
    scales = {"fp8_block": ".weight_scale_inv"}.get(form, ".weight_scale")
    yield module + scales, done.scales
    if shared:
        name = ".weight_scale_2" if form == "modelopt_nvfp4" else ".weight_global_scale"
        yield module + name, torch.tensor(shared, dtype=torch.float32)


def raw(tensor):
    return bytes(tensor.contiguous().view(torch.uint8).flatten().numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release")
    parser.add_argument("base")
    parser.add_argument("--tensor", default="")
    asked = parser.parse_args()
    release, base = Files(asked.release), Files(asked.base)
    manifest = json.loads((release.folder / "conversion_manifest.json").read_text("utf-8"))
    rows = [row for row in manifest["tensors"] if row["relation"] == "quantized"]
    modules = {row["source"]["tensor"].removesuffix(".weight"): row["source"]["file"] for row in rows}
    where = {row["name"]: row["file"] for row in manifest["tensors"] if "file" in row}
    bad = checked = 0
    for row in (r for r in rows if asked.tensor in r["source"]["tensor"]):
        if base.sha256(row["source"]["file"], row["source"]["tensor"]) != row["source"]["sha256"]:
            print(f"{row['source']['tensor']}: the base's bytes are not those that the manifest names")
            bad += 1
        for name, wanted in parts_of(row, base, manifest["format"], modules, release):
            checked += 1
            if hashlib.sha256(raw(wanted)).hexdigest() != release.sha256(where[name], name):
                print(f"{name}: differs")
                bad += 1
    print(f"{checked} tensors made again with torch {torch.__version__}; {bad} differ")
    return 1 if bad or not checked else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, KeyError) as error:
        print(f"not found: {error}", file=sys.stderr)
        sys.exit(3)
