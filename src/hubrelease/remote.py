"""verify hf://REPO@REV: a release on the Hub, checked without downloading its weights.

The listing gives every file's digest: sha256 for LFS and Xet files, which is compared with the provenance as it is;
regular files are fetched whole. Of a safetensors file only the header is fetched, by range requests, into a sparse file
of the right size, so that every check on headers runs on it as on a local release. Checks on tensor data are left out.
"""

from __future__ import annotations

import os
import re
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hubrelease import verify_release, weights
from hubrelease.errors import SpecError, Where, problem
from hubrelease.hub import Hub, RemoteFile
from hubrelease.progress import Progress
from hubrelease.release import Release
from hubrelease.verify_release import PROVENANCE, Finding, Result, Subject, finding

PREFIX = "hf://"
SMALL_BYTES = 32 * 2**20  # LFS files up to this size are fetched whole (tokenizer.json, for one)
MIRROR_BYTES = 2**43  # no file system takes more; the Hub takes 500 GB
HEAD_BYTES = 4096  # of a large file that is no safetensors: what it is shows at its beginning


@dataclass(frozen=True, slots=True)
class Place:
    """A repository and a revision of the Hub."""

    repo: str
    revision: str

    @property
    def version(self) -> str | None:
        """The version that the revision names, where it is a tag of that form; None for branches and commits."""
        match = re.fullmatch(r"v?(\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.-]+)?)", self.revision)
        return match[1] if match and len(self.revision) < 40 else None


def place_of(text: str) -> Place:
    """hf://ns/name@rev; SpecError for anything else. The revision defaults to main."""
    match = re.fullmatch(r"hf://([^/@\s]+/[^/@\s]+)(?:@(\S+))?", text)
    if match is None:
        raise SpecError(
            problem("usage", Where("command line"), f"{text!r} is no address of a release", "write hf://NAMESPACE/NAME@REVISION")
        )
    return Place(match[1], match[2] or "main")


@contextmanager
def remote_release(place: Place, hub: Hub, progress: Progress) -> Iterator[Release]:
    """The release at `place` as a Release over a temporary folder. Raises OutsideError as the Hub does."""
    commit = hub.resolve(place.repo, place.revision).commit
    everything = hub.tree(place.repo, commit)
    listing = [f for f in everything if verify_release.path_fault(f.path) is None]
    unsafe = [unsafe_name(f.path) for f in everything if verify_release.path_fault(f.path)]
    with tempfile.TemporaryDirectory(prefix="hubrelease-") as scratch:
        root = Path(os.path.realpath(scratch))
        progress.start("fetching headers and small files", None)
        partial = frozenset(f.path for f in listing if not mirror(root, place.repo, commit, f, hub, progress))
        progress.finish()
        result = result_of(root, listing, partial)
        yield Release(root, result._replace(findings=[*unsafe, *result.findings]), partial=partial)


def unsafe_name(path: str) -> Finding:
    return finding("unsafe-path", path, f"the name {verify_release.path_fault(path)}", "ask the publisher to rename the file")


def mirror(root: Path, repo: str, commit: str, file: RemoteFile, hub: Hub, progress: Progress) -> bool:
    """Puts a file, or its beginning at its full size, under `root`. True if it is there whole."""
    target = root / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    whole = file.size <= HEAD_BYTES or (not file.path.endswith(".safetensors") and (file.sha256 is None or file.size <= SMALL_BYTES))
    data = hub.fetch(repo, commit, file.path).read_bytes() if whole else beginning(repo, commit, file, hub)
    with target.open("wb") as out:
        out.write(data[: file.size])
        out.truncate(min(file.size, MIRROR_BYTES))
    progress.advance(len(data))
    return whole


def beginning(repo: str, commit: str, file: RemoteFile, hub: Hub) -> bytes:
    first = hub.read_range(repo, commit, file.path, 0, HEAD_BYTES)
    if not file.path.endswith(".safetensors") or len(first) < 8:
        return first
    (length,) = struct.unpack("<Q", first[:8])
    length = min(length, weights.MAX_HEADER_BYTES, max(file.size - 8, 0))
    missing = 8 + length - len(first)
    return first if missing <= 0 else first + hub.read_range(repo, commit, file.path, len(first), missing)


def result_of(root: Path, listing: Sequence[RemoteFile], partial: frozenset[str]) -> Result:
    """What check_folder would find, from the listing's digests for large files and the bytes of small ones."""
    folder = verify_release.Folder(root)
    entries, findings = folder.scan()
    provenance = verify_release.load_provenance(folder, entries)
    findings += provenance.findings
    findings += verify_release.collisions(set(entries) | {s.name for s in provenance.subjects})
    remote = {f.path: f for f in listing}
    present = [s for s in provenance.subjects if s.name in remote]
    for subject in present:
        findings += (
            listed_findings(subject, remote[subject.name]) if subject.name in partial else verify_release.check_subject(folder, subject)
        )
    if provenance.document is not None:
        findings += verify_release.unlisted_findings(folder, entries, provenance.subjects)
    missing = [s for s in provenance.subjects if s.name not in remote]
    return Result(provenance, entries, findings, missing, len(present), sum(s.size for s in present))


def listed_findings(subject: Subject, file: RemoteFile) -> list[Finding]:
    if (file.sha256, file.size) == (subject.sha256, subject.size):
        return []
    message = f"the Hub lists SHA-256 {file.sha256 or 'none'} and {file.size} bytes, {PROVENANCE} {subject.sha256} and {subject.size}"
    return [finding("hash-mismatch", subject.name, message, "ask the publisher; the repository was changed after the release was built")]
