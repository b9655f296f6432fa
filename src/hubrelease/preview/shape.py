"""Sanitised HTML → the page's own: anchors on headings, images of the folder or a placeholder, links, figures to point at.

It reads what ammonia wrote, which is well-formed and free of raw text elements, so a plain parser sees what a browser sees. Every
id and anchor of the card gets a prefix: none can be taken for one of the page's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urlsplit

from hubrelease.preview import marks

PREFIX = "card-"
VOID = ("br", "col", "hr", "img", "input", "wbr")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
WINDOWS = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True)
class Place:
    """`image` and `text` say whether the folder has such a picture or page; `url` is where this server has its pictures."""

    image: Callable[[str], bool]
    text: Callable[[str], bool]
    url: str


@dataclass
class Heading:
    at: int
    text: list[str] = field(default_factory=list)


class Shaper(HTMLParser):
    """`shown` are the numbers of the figures that were placed."""

    def __init__(self, place: Place) -> None:
        super().__init__(convert_charrefs=True)
        self.place = place
        self.out: list[str] = []
        self.shown: set[int] = set()
        self.slugs: dict[str, int] = {}
        self.heading: Heading | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: marks.unmarked(value or "") for key, value in attrs}
        if "id" in values:
            values["id"] = PREFIX + values["id"]
        if "name" in values:
            values["name"] = PREFIX + values["name"]
        if tag == "img":
            self.out.append(self.image(values))
            return
        if tag == "a":
            values = self.link(values)
        if tag == "table":
            self.out.append('<div class="wide" tabindex="0" role="region" aria-label="table">')
        self.out.append(opening(tag, values))
        if tag in HEADINGS:
            self.heading = Heading(len(self.out))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if tag in HEADINGS and self.heading:
            self.out.insert(self.heading.at, self.anchor("".join(self.heading.text)))
            self.heading = None
        self.out.append(f"</{tag}>" + ("</div>" if tag == "table" else ""))

    def handle_data(self, data: str) -> None:
        if self.heading:
            self.heading.text.append(marks.unmarked(data))
        for number, text in marks.pieces(data):
            if number is None:
                self.out.append(escape(text, quote=False))
            else:
                self.shown.add(number)
                self.out.append(f'<span class="figure" tabindex="0" role="button" data-figure="{number}">{escape(text)}</span>')

    def anchor(self, text: str) -> str:
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") or "section"
        count = self.slugs[slug] = self.slugs.get(slug, -1) + 1
        name = escape(PREFIX + slug + (f"-{count}" if count else ""))
        return f'<a class="anchor" id="{name}" href="#{name}" aria-label="link to this section">#</a>'

    def image(self, values: Mapping[str, str]) -> str:
        source, alt = values.get("src", ""), values.get("alt", "")
        path = local_path(source)
        if path is not None and self.place.image(path):
            kept = {key: value for key, value in values.items() if key in ("alt", "title", "width", "height", "align", "id")}
            return opening("img", {**kept, "src": self.place.url + quote(path), "loading": "lazy"})
        why = (
            "picture elsewhere, not fetched"
            if is_remote(source)
            else "no such picture in this folder"
            if source
            else "picture without an address"
        )
        address = f'<span class="address">{escape(source[:300])}</span>' if source else ""
        words = f'<span class="alt">{escape(alt)}</span>' if alt else ""
        return f'<span class="placeholder"><span class="why">{why}</span>{words}{address}</span>'

    def link(self, values: dict[str, str]) -> dict[str, str]:
        target = values.pop("href", "")
        if target.startswith("#"):
            return {**values, "href": "#" + PREFIX + target[1:]}
        if is_remote(target):
            return {**values, "href": target, "target": "_blank"}
        path = local_path(target)
        if path is not None and self.place.text(path):
            return {**values, "href": "#", "data-open": path}
        return {**values, "class": "nowhere", "title": f"not in this folder: {target[:300]}"} if target else values


def opening(tag: str, values: Mapping[str, str]) -> str:
    return f"<{tag}" + "".join(f' {key}="{escape(value)}"' for key, value in values.items()) + ">"


def is_remote(address: str) -> bool:
    """True for an address with a scheme that the allow-list left."""
    return urlsplit_or_none(address) in ("http", "https", "mailto")


def urlsplit_or_none(address: str) -> str | None:
    try:
        return urlsplit(address).scheme.lower()
    except ValueError:
        return None


def local_path(address: str) -> str | None:
    """The path below the folder that a relative address names; None for every other address and for one that leaves it."""
    plain = unquote(re.split(r"[?#]", address, maxsplit=1)[0])
    plain = plain.removeprefix("./")
    if not plain or plain.startswith(("/", "~")) or "\\" in plain or WINDOWS.match(plain) or re.search(r"[\x00-\x1f\x7f]", plain):
        return None
    if urlsplit_or_none(address) != "" or any(part in ("", ".", "..") for part in plain.split("/")):
        return None
    return plain


def shape(html: str, place: Place) -> tuple[str, set[int]]:
    """(HTML for the page, numbers of the figures in it)."""
    shaper = Shaper(place)
    shaper.feed(html)
    shaper.close()
    return "".join(shaper.out), shaper.shown
