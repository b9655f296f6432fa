"""Prints found / missed / false alarms of `verify` for all cases from the field and all malformed safetensors files.

python bench/cases.py [--folder .bench]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from common import arguments, scratch, table
from field_cases import HERE, judge, make

from hubrelease import weights


def main() -> None:
    asked = arguments("cases from the field")
    with scratch(asked.folder) as folder:
        judged = [judge(case) for case in make(folder, "--slow")]
    rows = [(j.ident, j.expected["severity"], j.expected["kind"], "found" if j.found else "MISSED", "; ".join(j.alarms)) for j in judged]
    table("cases from the field", rows, ("case", "severity", "kind", "verdict", "false alarms"))
    malformed = json.loads((HERE / "safetensors-malformed.json").read_text())["cases"]
    right = sum(fits(row) for row in malformed)
    print(f"\nfound {sum(j.found for j in judged)} of {len(judged)}, false alarms {sum(len(j.alarms) for j in judged)}; "
          f"malformed files judged right: {right} of {len(malformed)}")  # fmt: skip


def fits(row: dict) -> bool:
    """True if we refuse what the reference reader refuses. What it accepts we may accept with a remark."""
    data = bytes.fromhex(row["hex"])
    refused = "Error" in row["deserialize"]
    try:
        header, faults = weights.parse_header(data[8 : 8 + weights.header_length(data[:8], len(data))], len(data))
    except weights.ContainerFault:
        return refused
    return bool(faults) if refused else header is not None


if __name__ == "__main__":
    main()
