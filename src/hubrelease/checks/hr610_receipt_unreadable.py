"""A receipt is not strict JSON: trailing commas, a key given twice, bytes that are not UTF-8. Or it is too large to be read.

Why it matters: figures must be read the same way by everybody; what only some readers take proves nothing.
Mend: Write the file again with the harness, or with a JSON writer.
Too large is a warning: the release can be good, and its figures were not held against the card.
Source: huggingface/lighteval docs/source/saving-and-reading-results.mdx (an example with trailing commas); HR602 says the same
of a receipt beside release.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.evaluations import TOO_LARGE, receipts
from hubrelease.release import Release
from hubrelease.verify_release import lfs_pointer

MAX_SHOWN = 10  # lines of one .jsonl file


def run(release: Release) -> Iterator[Problem]:
    shown: dict[str, int] = {}
    for receipt in receipts(release):
        shown[receipt.file] = shown.get(receipt.file, 0) + (receipt.fault is not None)
        if receipt.is_skipped:
            yield CHECK.problem(Where(receipt.file), str(receipt.fault), TOO_LARGE, "warning")
        elif receipt.fault and shown[receipt.file] <= MAX_SHOWN and not is_pointer(release, receipt.file):
            message = f"is not strict JSON: {receipt.fault[:200]}"
            yield CHECK.problem(Where(receipt.file, receipt.line), message, "write the receipt again as strict JSON")


def is_pointer(release: Release, file: str) -> bool:
    """True for a git-lfs pointer in the receipt's place, which has a finding of its own."""
    return lfs_pointer(release.read(file) or b"") is not None


CHECK = Check("HR610", "receipt-unreadable", "receipt that is no JSON", run)
