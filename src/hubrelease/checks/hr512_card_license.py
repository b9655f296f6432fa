"""The card's licence is not an id that the Hub accepts, or `other` without saying which.

Why it matters: the Hub has a list of its own (an SPDX id is not enough) and refuses the commit, after the weights went up.
Mend: Write an id of the Hub's list, or `other` with license_name and license_link, and put the text into LICENSE.
Source: huggingface/huggingface_hub issue 4218; huggingface/hub-docs docs/hub/repositories-licenses.md and modelcard.md.
`other` without a name or a text is a warning: the Hub takes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import FrontMatter, is_blank, items_of, kind_of, texts_of
from hubrelease.hub_lists import licenses, nearest_license
from hubrelease.release import Release
from hubrelease.strict_yaml import Node, Scalar

OTHER = "write other, with license_name and license_link"


def run(release: Release) -> Iterator[Problem]:
    if release.card is None:
        return
    front = release.card.front
    for item in items_of(front.get("license")):
        yield from id_problems(item, front.line("license"))
    if any(item.text == "other" for item in texts_of(front.get("license"))):
        yield from other_problems(release, front)
    yield from link_problems(release, front)


def id_problems(item: Node, line: int) -> Iterator[Problem]:
    where = Where(FILE, max(item.line, line), "/license")
    if is_blank(item):
        yield CHECK.problem(where, "license has no value", "write the licence's id, or leave the key out")
    elif not isinstance(item, Scalar) or kind_of(item) != "string":
        yield CHECK.problem(where, f"license is a {kind_of(item)}, not an id", "write the licence's id")
    elif item.text not in licenses():
        near = nearest_license(item.text)
        mend = f"write {near}, or {OTHER.removeprefix('write ')}" if near else OTHER
        yield CHECK.problem(where, f'license "{item.text[:60]}" is not an id that the Hub accepts', mend)


def other_problems(release: Release, front: FrontMatter) -> Iterator[Problem]:
    where = Where(FILE, front.line("license"), "/license")
    if front.get("license_name") is None:
        message = "license is other and license_name does not say which"
        yield CHECK.problem(where, message, "give the licence a name of its own in license_name", severity="warning")
    if front.get("license_link") is None and has_more_than_the_card(release) and not license_files(release):
        message = "license is other, and neither license_link nor a LICENSE file says what it allows"
        yield CHECK.problem(where, message, "put the text into LICENSE and write license_link: LICENSE", severity="warning")


def link_problems(release: Release, front: FrontMatter) -> Iterator[Problem]:
    """A link into the release that leads nowhere."""
    for item in texts_of(front.get("license_link")):
        path = item.text.strip().partition("#")[0].removeprefix("./").lstrip("/")
        is_link = "://" in item.text or item.text.startswith("www.") or not path
        if not is_link and has_more_than_the_card(release) and path not in release.files | release.missing:
            message = f'license_link names "{path[:80]}", which is not in the release'
            yield CHECK.problem(Where(FILE, item.line, "/license_link"), message, "add the file, or correct the link")


def license_files(release: Release) -> list[str]:
    return [path for path in release.files | release.missing if path.upper().startswith(("LICENSE", "LICENCE", "COPYING"))]


def has_more_than_the_card(release: Release) -> bool:
    """False where nothing but a card is looked at: what else the release holds is then unknown."""
    return any(path != FILE and not path.startswith(".") for path in release.files)


CHECK = Check("HR512", "card-license", "licence that the Hub does not accept", run)
