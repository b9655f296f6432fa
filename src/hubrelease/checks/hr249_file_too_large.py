"""A file is larger than the Hub takes: 500 GB, or 10 MiB where no line of .gitattributes stores it in LFS.

Over 500 GB, and a card over 10 MiB, is an error. A missing line is a warning: uploaders over HTTP add it by themselves, git does not.
Where the release has no .gitattributes, the 35 patterns of a new repository count.

Why it matters: the upload is refused at its end, after hours.
Mend: Cut weights into shards; add the line that the message names to .gitattributes.
Source: huggingface/hub-docs docs/hub/storage-limits.md and repositories-getting-started.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.gitattributes import Attributes, line_for
from hubrelease.release import Release
from hubrelease.telling import few
from hubrelease.verify_release import LOCAL_DIR, gb

LARGEST, PLAIN = 500 * 10**9, 10 * 2**20
CARD = "README.md"


def run(release: Release) -> Iterator[Problem]:
    large = sorted(path for path, entry in release.result.entries.items() if entry.kind == "file" and entry.size > PLAIN)
    if large:
        yield from few(size_problems(release, [path for path in large if not LOCAL_DIR.fullmatch(path)]))


def size_problems(release: Release, large: list[str]) -> Iterator[Problem]:
    attributes = Attributes(release)
    for path in large:
        size = release.result.entries[path].size
        if size > LARGEST:
            yield CHECK.problem(path, f"has {gb(size)}; the Hub takes files of up to 500 GB", "cut it into shards")
        elif path == CARD:
            message = f"is a card of {gb(size)}; the Hub takes cards of up to 10 MiB"
            yield CHECK.problem(path, message, "move images and tables out of the card")
        elif not attributes.stores_in_lfs(path):
            message = f"has {gb(size)} and no line of .gitattributes stores it in LFS; the Hub refuses plain files of more than 10 MiB"
            yield CHECK.problem(path, message, f"add to .gitattributes: {line_for(path)}", severity="warning")


CHECK = Check("HR249", "file-too-large", "file larger than the Hub takes", run)
