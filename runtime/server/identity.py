"""Which release a folder is: name, version and payload digest, so that a client knows which bytes answered.

As its provenance says, read by the rules of the verifier that lies beside the server; the entry point has held the files
against it before. A checkout has no such verifier, and nothing is told there.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

VERIFIER = Path(__file__).resolve().parents[1] / "verify_release.py"


def identity(folder: Path, verifier: Path = VERIFIER) -> dict[str, str]:
    """model, version and payloadDigest, as far as the folder has them; {} for one that is no sound release."""
    if not verifier.is_file():
        return {}
    rules = loaded(verifier)
    try:
        with (folder / rules.PROVENANCE).open("rb") as file:
            data = file.read(rules.MAX_PROVENANCE_BYTES + 1)
    except OSError:
        return {}
    found = rules.parse_provenance(data)
    if len(data) > rules.MAX_PROVENANCE_BYTES or found.findings:
        return {}
    asked = rules.spec_of(found.document)
    told = {"model": asked.get("name"), "version": asked.get("version"), "payloadDigest": rules.payload_digest(found.subjects)}
    return {key: value for key, value in told.items() if isinstance(value, str) and value}


def loaded(verifier: Path) -> Any:
    spec = spec_from_file_location("verify_release", verifier)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its named tuples look themselves up there
    spec.loader.exec_module(module)
    return module
