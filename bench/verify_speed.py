"""verify against its peers on one cached release: hashlib with two threads, sha256sum two at a time, model_signing if installed.

python bench/verify_speed.py [--gib 8] [--shards 16] [--rounds 5]
"""

from __future__ import annotations

import shutil
import subprocess
import sys

from common import GIB, HUBRELEASE, arguments, files_of, hash_with_two_threads, medians, run, scratch, sealed, table


def main() -> None:
    asked = arguments("speed of verify", gib=8.0, shards=16, rounds=5)
    with scratch(asked.folder) as folder:
        release = sealed(folder / "release", int(asked.gib * GIB), asked.shards)
        files = files_of(release)
        works = {
            "hashlib, two threads": lambda: hash_with_two_threads(files),
            "hubrelease verify": lambda: run(*HUBRELEASE, "verify", str(release)),
            "verify_release.py": lambda: run(sys.executable, "-I", str(release / "runtime/verify_release.py"), str(release)),
            "sha256sum, two at a time": lambda: subprocess.run(
                ["xargs", "-0", "-P2", "-n1", "sha256sum"],
                input=b"\0".join(str(f).encode() for f in files),
                stdout=subprocess.DEVNULL,
                check=True,
            ),
        }
        if shutil.which("model_signing"):
            works["model_signing verify"] = model_signing(release, folder)
        found = medians(asked.rounds, works)
    reference = found["hashlib, two threads"]
    rows = [(name, f"{s:.2f} s", f"{asked.gib / s:.2f} GiB/s", f"{reference / s:.3f}") for name, s in found.items()]
    table(
        f"verify of {asked.gib:g} GiB in {asked.shards} shards, cached, medians of {asked.rounds}", rows, ("", "time", "rate", "of hashlib")
    )


def model_signing(release, folder):
    """OpenSSF's tool with a key of its own, made here."""
    key, public, signature = folder / "key.pem", folder / "key.pub", folder / "model.sig"
    run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key))
    run("openssl", "ec", "-in", str(key), "-pubout", "-out", str(public))
    run("model_signing", "sign", "key", str(release), "--private-key", str(key), "--signature", str(signature))
    return lambda: run("model_signing", "verify", "key", str(release), "--public-key", str(public), "--signature", str(signature))


if __name__ == "__main__":
    main()
